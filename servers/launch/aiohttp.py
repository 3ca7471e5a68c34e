"""The profile `aiohttp`: aiohttp.web on uvloop."""

from __future__ import annotations

import uvloop
from aiohttp import web

from servers.aiohttp_app import create_app
from servers.launch.arguments import parse


def main() -> None:
    """Serve until terminated."""
    arguments = parse(["backlog"])
    web.run_app(
        create_app(),
        host=arguments.host,
        port=arguments.port,
        backlog=arguments.backlog,
        access_log=None,
        print=None,
        keepalive_timeout=75,
        shutdown_timeout=1,
        loop=uvloop.new_event_loop(),
    )


if __name__ == "__main__":
    main()
