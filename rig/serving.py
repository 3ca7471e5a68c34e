"""One server in the foreground."""

from __future__ import annotations

import time
from collections.abc import Callable

from servers.catalog import Instance
from servers.errors import StartError
from servers.process import start
from servers.profile import limits_line

_LOOK_S = 0.2


def serve_until_stopped(instance: Instance, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM; `tell` is given each line for the user once the server is ready.

    Raises:
        servers.errors.ServersError: it could not start, or ended by itself.
    """
    with start(instance, host, port) as server:
        # From the first line on a reader may stop it, before the others are out.
        try:
            tell(f"{instance.spec} ({instance.profile.server}) listens on {server.url}")
            tell(limits_line(instance.limits))
            tell("Ctrl-C stops it")
            while server.alive():
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            return
        raise StartError(f"{instance.spec} ended by itself", log_tail=server.log_tail(), log_path=server.log_path)
