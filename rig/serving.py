"""One server in the foreground."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from servers.catalog import Instance
from servers.errors import StartError
from servers.process import start

_LOOK_S = 0.2


def serve_until_stopped(instance: Instance, host: str, port: int) -> Iterator[str]:
    """Serves until SIGINT or SIGTERM, and gives the lines to print meanwhile.

    Raises:
        servers.errors.ServersError: it could not start, or ended by itself.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    with start(instance, host, port) as server:
        yield f"{instance.spec} ({instance.profile.server}) listens on {server.url}"
        yield f"limited by {instance.limits}"
        yield "Ctrl-C stops it"
        try:
            while server.alive():
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            return
        raise StartError(f"{instance.spec} ended by itself", log_tail=server.log_tail(), log_path=server.log_path)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
