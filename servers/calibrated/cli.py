"""The command `python -m servers.calibrated`: the only part that reads arguments, prints and ends the process."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from servers.calibrated.precedence import take_precedence
from servers.calibrated.server import Server
from servers.calibrated.settings import Settings, SettingsError, parse_stall
from servers.launch.guard import lift_descriptor_limit
from servers.stats import Gauge

USAGE = 2


class _OneLineParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"calibrated: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the server until SIGTERM or SIGINT.

    Args:
        argv: The arguments; those of the process for None.

    Returns:
        The exit code: 0, or 2 for a wrong argument or an address that cannot be listened on.
    """
    try:
        settings = _settings(argv)
    except SettingsError as error:
        return _fail(str(error))
    prepare_process()
    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            runner.run(_serve(settings))
    except OSError as error:
        return _fail(f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}")
    return 0


def _settings(argv: Sequence[str] | None) -> Settings:
    given = vars(_parser().parse_args(argv))
    every_ms, for_ms = parse_stall(given.pop("stall"))
    return Settings(**given, stall_every_ms=every_ms, stall_for_ms=for_ms)


def _parser() -> argparse.ArgumentParser:
    default = Settings()
    parser = _OneLineParser(prog="calibrated", description="An HTTP server that keeps exactly the limits it is told.")
    add = parser.add_argument
    add("--host", default=default.host, help="address to listen on (%(default)s)")
    add("--port", type=_number(int), default=default.port, help="port; 0: any free one (%(default)s)")
    add("--limit", type=_number(int), default=0, help="most requests worked on at once; 0: no limit (%(default)s)")
    add("--service-ms", type=_number(float), default=default.service_ms, help="length of each service (%(default)s)")
    add("--jitter-ms", type=_number(float), default=0.0, help="services vary by up to so much, uniformly (%(default)s)")
    add("--backlog", type=_number(int), default=default.backlog, help="accept queue asked for (%(default)s)")
    add(
        "--connections",
        type=_number(int),
        default=0,
        help="most connections accepted at once; 0: no limit (%(default)s)",
    )
    add("--shed", action="store_true", help="answer 503 beyond the limit instead of letting requests wait")
    add("--stall", default="", metavar="P/Q", help="every P ms since the start, stand still for Q ms")
    add("--seed", type=_number(int), default=default.seed, help="seed of the jitter (%(default)s)")
    add("--realtime", action="store_true", help="ask for real-time scheduling: more exact, but it slows the client")
    return parser


def _number(convert: type[int] | type[float]) -> Callable[[str], float]:
    what = "a whole number" if convert is int else "a number"

    def read(text: str) -> float:
        try:
            return convert(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"accepted is {what}, not {text!r}") from None

    return read


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def prepare_process() -> None:
    """Raises the descriptor limit and ends garbage collections, for this whole process."""
    # The server breaks its own reference cycles; a collection would be a standstill that nobody asked for.
    gc.collect()
    gc.freeze()
    gc.disable()
    lift_descriptor_limit()


async def _serve(settings: Settings) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    # Before the server says that it listens: whoever waits for that may stop it at once.
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    gauge = Gauge.from_environment()
    server = Server(settings, loop, gauge, realtime=settings.realtime and take_precedence())
    gauge.announce()
    print(f"listening on {server.url}", flush=True)
    await stop.wait()
    server.close()


def _fail(message: str) -> int:
    print(f"calibrated: {message}", file=sys.stderr)
    return USAGE
