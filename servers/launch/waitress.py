"""The profile `threads`: waitress."""

from __future__ import annotations

import logging
from collections import deque
from typing import Any

from waitress.server import create_server  # type: ignore[import-untyped]
from waitress.task import ThreadedTaskDispatcher  # type: ignore[import-untyped]

from servers.launch.arguments import parse
from servers.ports import bracketed
from servers.stats import Gauge
from servers.wsgi import create_app

# waitress compares its limit with all the descriptors that it polls: the connections, its listening socket and the
# pipe that wakes it.
_DESCRIPTORS_OF_ITS_OWN = 2


class _ShownQueue(deque[Any]):
    """The queue of tasks; shows how many wait. waitress holds a lock whenever it changes it."""

    def __init__(self, gauge: Gauge) -> None:
        super().__init__()
        self._gauge = gauge
        gauge.show_waiting(0)

    def append(self, task: Any) -> None:
        super().append(task)
        self._gauge.show_waiting(len(self))

    def popleft(self) -> Any:
        task = super().popleft()
        self._gauge.show_waiting(len(self))
        return task


def main() -> None:
    """Serve until terminated."""
    arguments = parse(["threads", "backlog", "connections"])
    # Warnings tell of a task queue and of a connection limit reached: here both are meant, and a line each would cost.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    gauge = Gauge.from_environment()
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.queue = _ShownQueue(gauge)
    dispatcher.set_thread_count(arguments.threads)
    server = create_server(
        create_app(gauge),
        _dispatcher=dispatcher,
        listen=f"{bracketed(arguments.host)}:{arguments.port}",
        threads=arguments.threads,
        backlog=arguments.backlog,
        connection_limit=arguments.connections + _DESCRIPTORS_OF_ITS_OWN,
        # select() fails on descriptors above 1023.
        asyncore_use_poll=True,
        clear_untrusted_proxy_headers=True,
    )
    server.run()


if __name__ == "__main__":
    main()
