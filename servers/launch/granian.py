"""The profile `granian`: granian, a server in Rust, with the ASGI application on an event loop."""

from __future__ import annotations

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from servers.launch.arguments import parse


def main() -> None:
    """Serve until terminated."""
    arguments = parse(["workers", "backlog"], optional=["backpressure"])
    Granian(
        "servers.asgi:create_async_app",
        factory=True,
        address=arguments.host,
        port=arguments.port,
        interface=Interfaces.ASGI,
        workers=arguments.workers,
        backlog=arguments.backlog,
        backpressure=arguments.backpressure,
        loop=Loops.uvloop,
        http=HTTPModes.http1,
        # It also ends connections kept alive for so long, in milliseconds.
        http1_settings=HTTP1Settings(header_read_timeout=75_000),
        websockets=False,
        log_level=LogLevels.error,
        # In seconds. Without it a worker is waited for until its last request is answered.
        workers_kill_timeout=1,
    ).serve()


if __name__ == "__main__":
    main()
