"""The profile `threads`: waitress."""

from __future__ import annotations

import logging

import waitress  # type: ignore[import-untyped]

from servers.launch.arguments import parse
from servers.ports import bracketed
from servers.wsgi import create_app

# waitress compares its limit with all the descriptors that it polls: the connections, its listening socket and the
# pipe that wakes it.
_DESCRIPTORS_OF_ITS_OWN = 2


def main() -> None:
    """Serve until terminated."""
    arguments = parse(["threads", "backlog", "connections"])
    # Warnings tell of a task queue and of a connection limit reached: here both are meant, and a line each would cost.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    waitress.serve(
        create_app(),
        listen=f"{bracketed(arguments.host)}:{arguments.port}",
        threads=arguments.threads,
        backlog=arguments.backlog,
        connection_limit=arguments.connections + _DESCRIPTORS_OF_ITS_OWN,
        # select() fails on descriptors above 1023.
        asyncore_use_poll=True,
        clear_untrusted_proxy_headers=True,
    )


if __name__ == "__main__":
    main()
