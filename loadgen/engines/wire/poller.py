"""Readiness of many sockets behind one descriptor.

An epoll set is itself a descriptor that becomes readable when any member is ready. The asyncio loop watches that one
(`add_reader`), and the engine takes what is ready from it in batches, with none of the loop's cost per socket.
"""

from __future__ import annotations

import select
import selectors
from collections.abc import Sequence
from typing import Final, Protocol

READ: Final = 1
"""Ready to read. The value of EPOLLIN, as `WRITE` is that of EPOLLOUT."""
WRITE: Final = 4


class Poller(Protocol):
    """What the engine needs of `select.epoll`."""

    def fileno(self) -> int:
        """A descriptor that is readable while any registered one is ready."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watches a descriptor. Closing it ends the watch."""

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Changes what a descriptor is watched for."""

    def unregister(self, fd: int, /) -> None:
        """Watches it no longer."""

    def poll(self, timeout: float, maxevents: int, /) -> Sequence[tuple[int, int]]:
        """What is ready now: (descriptor, events) pairs; events beside READ and WRITE mean an error or a hang-up."""

    def close(self) -> None:
        """Frees the descriptor."""


class SelectorPoller:
    """The same over the `selectors` module, for systems whose selector is a descriptor but not epoll (kqueue)."""

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self._selector = selector or selectors.DefaultSelector()

    def fileno(self) -> int:
        """A descriptor that is readable while any registered one is ready."""
        fd: int = self._selector.fileno()  # type: ignore[attr-defined]
        return fd

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watches a descriptor, in place of a closed one that had its number."""
        if fd in self._selector.get_map():
            self._selector.unregister(fd)
        self._selector.register(fd, _to_selector(eventmask))

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Changes what a descriptor is watched for."""
        self._selector.modify(fd, _to_selector(eventmask))

    def unregister(self, fd: int, /) -> None:
        """Watches it no longer."""
        self._selector.unregister(fd)

    def poll(self, timeout: float, maxevents: int, /) -> Sequence[tuple[int, int]]:
        """What is ready now; `maxevents` is not kept."""
        return [
            (key.fd, (READ if events & selectors.EVENT_READ else 0) | (WRITE if events & selectors.EVENT_WRITE else 0))
            for key, events in self._selector.select(timeout)
        ]

    def close(self) -> None:
        """Frees the descriptor."""
        self._selector.close()


def _to_selector(eventmask: int) -> int:
    return (selectors.EVENT_READ if eventmask & READ else 0) | (selectors.EVENT_WRITE if eventmask & WRITE else 0)


def make_poller() -> Poller:
    """The platform's poller."""
    if hasattr(select, "epoll"):
        return select.epoll()
    return SelectorPoller()
