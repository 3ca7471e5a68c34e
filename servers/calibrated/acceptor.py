"""The listening socket, and accepting from it one by one.

The loops' own servers accept up to a backlog's worth in one go, and cannot be stopped at an exact number.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
import sys
import time
from collections.abc import Callable

from servers.calibrated.arrival import stamp_arrivals
from servers.calibrated.settings import Settings
from servers.calibrated.timetable import NEVER_NS
from servers.ports import bracketed

# After so many connections in a row the loop looks at the others.
BATCH = 256
# Out of descriptors or memory: how long until accepting is tried again, if no connection closes before.
RETRY_S = 0.1
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Acceptor:
    """Listens from its construction on, and accepts never more than `connections` at once.

    Args:
        settings: Where to listen, and how.
        loop: The running loop.
        take: Is given each accepted, non-blocking socket, and the moment since which there was room for it (ns).

    Attributes:
        open: Connections accepted and not released yet.
        stamped: Whether the kernel stamps arrivals.

    Raises:
        OSError: The address cannot be resolved or listened on.
    """

    __slots__ = ("_accepting", "_listener", "_loop", "_most", "_room_since_ns", "_take", "open", "stamped")

    def __init__(
        self, settings: Settings, loop: asyncio.AbstractEventLoop, take: Callable[[socket.socket, int], None]
    ) -> None:
        self._most = settings.connections or NEVER_NS
        self._loop = loop
        self._take = take
        self._listener = _listen(settings)
        self._accepting = False
        self._room_since_ns = 0
        self.open = 0
        self.stamped = stamp_arrivals(self._listener)
        self._resume()

    @property
    def url(self) -> str:
        """The URL listened on, with the real port."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{bracketed(host)}:{port}"

    def queue(self) -> dict[str, int] | None:
        """Returns how many connections the accept queue holds, and its length; None where the kernel does not tell."""
        if sys.platform != "linux":
            return None
        # Of a listening socket, tcpi_unacked and tcpi_sacked of struct tcp_info are these two.
        info = self._listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
        holds, length = struct.unpack_from("II", info, 24)
        return {"holds": holds, "length": length}

    def release(self) -> None:
        """Is told that an accepted connection was closed: there is room for another one."""
        self.open -= 1
        self._resume()

    def close(self) -> None:
        """Stops listening."""
        self._pause()
        self._listener.close()

    def _resume(self) -> None:
        if not self._accepting and self._listener.fileno() >= 0:
            self._accepting = True
            self._room_since_ns = time.monotonic_ns()
            self._loop.add_reader(self._listener, self._accept)

    def _pause(self) -> None:
        if self._accepting:
            self._accepting = False
            self._loop.remove_reader(self._listener)

    def _accept(self) -> None:
        for _ in range(BATCH):
            if self.open >= self._most:
                self._pause()
                return
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._pause()
                    self._loop.call_later(RETRY_S, self._resume)
                    return
                continue  # that one client was gone already
            sock.setblocking(False)
            self.open += 1
            self._take(sock, self._room_since_ns)


def _listen(settings: Settings) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except UnicodeError as error:  # a name that no name can be
        raise OSError(errno.EINVAL, f"not a host name: {error}") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it: pipelined answers must not wait for each other's acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setblocking(False)
        listener.bind(address)
        listener.listen(settings.backlog)
    except BaseException:
        listener.close()
        raise
    return listener
