"""The profiles there are. A new one is a new entry: nothing else asks a profile for its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from servers.calibrated.settings import concurrency_limit
from servers.node.profile import NODE_HTTP
from servers.profile import Flag, Knob, Pause, Profile, Values, Whole, spoken
from servers.spring.profile import SPRING


def _number(values: Values, name: str) -> int:
    value = values[name]
    assert isinstance(value, int), (name, value)
    return value


def _backlog(default: int) -> Knob:
    # The kernel holds no more than net.core.somaxconn, whatever is asked for.
    return Knob("backlog", default, "length asked for the accept queue", Whole(1, 65_535))


def _workers(default: int) -> Knob:
    return Knob("workers", default, "server processes", Whole(1, 64))


def _threads(default: int) -> Knob:
    return Knob("threads", default, "threads, in each process", Whole(1, 10_000))


def _module(module: str, *names: str) -> Callable[[Values, str, int], list[str]]:
    """The command that runs a Python module with the named knobs; one whose value is None is left out."""

    def command(values: Values, host: str, port: int) -> list[str]:
        given = [(name, values[name]) for name in names if values[name] is not None]
        knobs = [word for name, value in given for word in (f"--{name.replace('_', '-')}", str(value))]
        # -P: a folder named like one of our packages where the user stands must not take its place.
        return [sys.executable, "-P", "-m", module, "--host", host, "--port", str(port), *knobs]

    return command


def _calibrated_command(values: Values, host: str, port: int) -> list[str]:
    numbers = _module("servers.calibrated", "limit", "service_ms", "jitter_ms", "backlog", "connections")
    shed = ["--shed"] if values["shed"] else []
    stall = ["--stall", str(values["stall"])] if values["stall"] else []
    return [*numbers(values, host, port), *shed, *stall]


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else noun.endswith('s') * 'e' + 's'}"


def _waitress_limit(values: Values) -> int:
    return min(_number(values, "threads"), _number(values, "connections"))


def _waitress_limits(values: Values) -> str:
    threads, connections = _number(values, "threads"), _number(values, "connections")
    if threads <= connections:
        return _many(threads, "thread")
    return f"{_many(connections, 'connection')} accepted at once"


def _gthread_limits(values: Values) -> str:
    workers, threads = _number(values, "workers"), _many(_number(values, "threads"), "thread")
    return threads if workers == 1 else f"{_many(workers, 'process')} of {threads}"


def _async_limit(values: Values) -> int | None:
    # uvicorn counts the connection that asks as well: the request that comes on the last place is refused.
    connections = values["limit_concurrency"]
    return None if connections is None else _number(values, "workers") * (_number(values, "limit_concurrency") - 1)


def _async_limits(values: Values) -> str:
    workers = _number(values, "workers")
    where = "one event loop" if workers == 1 else f"{workers} processes of one event loop"
    if values["limit_concurrency"] is None:
        return f"nothing but the CPU ({where})"
    each = "" if workers == 1 else " to a process"
    return f"503 from {_many(_number(values, 'limit_concurrency'), 'open connection')}{each} on"


def _granian_connections(values: Values) -> int:
    # In each process, which stops accepting there; a connection that is kept alive holds its place while it is idle.
    if values["backpressure"] is None:
        return _number(values, "backlog") // _number(values, "workers")
    return _number(values, "backpressure")


def _granian_limits(values: Values) -> str:
    workers, connections = _number(values, "workers"), _many(_granian_connections(values), "connection")
    return f"{connections} accepted at once" if workers == 1 else f"{workers} processes of {connections} each"


def _calibrated_limits(values: Values) -> str:
    limit, connections = _number(values, "limit"), _number(values, "connections")
    told = [f"{limit} at once{', 503 beyond' if values['shed'] else ''}"] if limit else []
    told += [f"{_many(connections, 'connection')} accepted at once"] if connections else []
    told += [f"a stall every {str(values['stall']).replace('/', ' ms of ')} ms"] if values["stall"] else []
    return "; ".join(told) or "nothing"


def _calibrated_limit(values: Values) -> int | None:
    return concurrency_limit(_number(values, "limit"), _number(values, "connections"))


_ALL: Final = (
    Profile(
        name="threads",
        server="waitress, WSGI",
        knobs=(
            _threads(200),
            _backlog(1024),
            Knob("connections", 8192, "connections accepted at once", Whole(1, 1_000_000)),
        ),
        limits=_waitress_limits,
        concurrency_limit=_waitress_limit,
        command=_module("servers.launch.waitress", "threads", "backlog", "connections"),
        processes=lambda _: 1,
    ),
    Profile(
        name="gthread",
        server="gunicorn gthread, WSGI",
        knobs=(_threads(200), _workers(1), _backlog(2048)),
        limits=_gthread_limits,
        concurrency_limit=lambda values: _number(values, "threads") * _number(values, "workers"),
        command=_module("servers.launch.gunicorn", "threads", "workers", "backlog"),
        processes=lambda values: _number(values, "workers"),
    ),
    Profile(
        name="greenlets",
        server="gevent pywsgi, WSGI",
        knobs=(_backlog(1024),),
        limits=lambda _: "nothing but the CPU (a greenlet a request, one thread)",
        concurrency_limit=lambda _: None,
        command=_module("servers.launch.gevent", "backlog"),
        processes=lambda _: 1,
    ),
    Profile(
        name="processes",
        server="gunicorn sync, WSGI",
        knobs=(_workers(2), _backlog(2048)),
        limits=lambda values: f"{_many(_number(values, 'workers'), 'process')}, one request each",
        concurrency_limit=lambda values: _number(values, "workers"),
        command=_module("servers.launch.gunicorn", "workers", "backlog"),
        processes=lambda values: _number(values, "workers"),
    ),
    Profile(
        name="async",
        server="uvicorn, Starlette async def",
        knobs=(
            _workers(1),
            _backlog(2048),
            Knob(
                "limit_concurrency",
                None,
                "open connections, in each process, from which on it answers 503",
                # At 1 it would refuse everything: the connection that asks counts.
                Whole(2, 1_000_000, optional=True),
            ),
        ),
        limits=_async_limits,
        concurrency_limit=_async_limit,
        command=_module("servers.launch.uvicorn", "workers", "backlog", "limit_concurrency"),
        processes=lambda values: _number(values, "workers"),
    ),
    Profile(
        name="async-threadpool",
        server="uvicorn, Starlette plain def",
        knobs=(Knob("tokens", 40, "threads that AnyIO's default limiter allows", Whole(1, 10_000)), _backlog(2048)),
        limits=lambda values: f"{_many(_number(values, 'tokens'), 'thread')} (AnyIO's default limiter)",
        concurrency_limit=lambda values: _number(values, "tokens"),
        command=_module("servers.launch.uvicorn", "tokens", "backlog"),
        processes=lambda _: 1,
    ),
    NODE_HTTP,
    SPRING,
    Profile(
        name="granian",
        server="granian, Starlette async def",
        knobs=(
            _workers(1),
            # It takes a smaller one for 128.
            Knob("backlog", 1024, "length asked for the accept queue of each process", Whole(128, 65_535)),
            Knob(
                "backpressure",
                None,
                "connections accepted at once, in each process; none for backlog / workers",
                Whole(1, 1_000_000, optional=True),
            ),
        ),
        limits=_granian_limits,
        concurrency_limit=lambda values: _number(values, "workers") * _granian_connections(values),
        command=_module("servers.launch.granian", "workers", "backlog", "backpressure"),
        processes=lambda values: _number(values, "workers"),
        # Else, where the starter asks for them, what it says of a port in use is lost above its Rust frames.
        environment={"RUST_BACKTRACE": "0"},
    ),
    Profile(
        name="aiohttp",
        server="aiohttp.web",
        knobs=(_backlog(128),),
        limits=lambda _: "nothing but the CPU (one event loop)",
        concurrency_limit=lambda _: None,
        command=_module("servers.launch.aiohttp", "backlog"),
        processes=lambda _: 1,
    ),
    Profile(
        name="calibrated",
        server="ours, asyncio",
        knobs=(
            Knob("limit", 0, "requests worked on at once; 0 for no limit", Whole(0, 1_000_000)),
            Knob("service_ms", 1000, "time at work on a request, ms", Whole(0, 600_000)),
            Knob("jitter_ms", 0, "spread of that time, ms", Whole(0, 600_000)),
            _backlog(4096),
            Knob("connections", 0, "connections accepted at once; 0 for no limit", Whole(0, 1_000_000)),
            Knob("shed", False, "answer 503 beyond the limit instead of queueing", Flag()),
            Knob("stall", "", "stand still again and again", Pause()),
        ),
        limits=_calibrated_limits,
        concurrency_limit=_calibrated_limit,
        command=_calibrated_command,
        processes=lambda _: 1,
    ),
)

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType({profile.name: profile for profile in _ALL})


def described(profile: Profile) -> str:
    """The profile's knobs with their defaults, as a spec writes them: 'threads=200, backlog=1024'."""
    return ", ".join(f"{knob.name}={spoken(knob.default)}" for knob in profile.knobs)
