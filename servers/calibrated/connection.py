"""One client's connection: its requests one by one, and their answers. What a request means is the server's business.

A connection is not read while a request of it is worked on: what comes meanwhile waits in the kernel, as with a server
of threads. That keeps the answers in order and needs no bounds of its own. It also means that a client that goes away
in the middle of its service is noticed when the answer is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from typing import Protocol

from servers.calibrated.arrival import ANCILLARY_BYTES, ago_ns
from servers.calibrated.reader import CLOSE, Request, RequestReader

READ_BYTES = 16_384
# How long a client that sent nonsense may take to read why, before the connection is cut.
LINGER_S = 2.0


class Owner(Protocol):
    """What a connection needs of its server."""

    def begin(self, connection: Connection, request: Request) -> None:
        """Takes up a request; the server answers it by `send`, and calls `answered` afterwards."""

    def catch_up(self) -> None:
        """Does what is due before anything else is done."""

    def read_after(self, delay_ns: int) -> None:
        """Is told by how much a request was read after the kernel had received it."""

    def closed(self, connection: Connection) -> None:
        """Is told that the connection is closed."""


class Connection:
    """One accepted connection.

    Args:
        sock: The accepted, non-blocking socket; the connection owns it from here on.
        owner: The server.
        loop: The running loop.
        earliest_ns: No service of this connection begins before.
    """

    __slots__ = (
        "_busy",
        "_closing",
        "_lingering",
        "_loop",
        "_owner",
        "_reader",
        "_registered",
        "_sock",
        "_unsent",
        "earliest_ns",
        "is_closed",
    )

    def __init__(self, sock: socket.socket, owner: Owner, loop: asyncio.AbstractEventLoop, earliest_ns: int) -> None:
        self._sock = sock
        self._owner = owner
        self._loop = loop
        self._reader = RequestReader()
        self._busy = False
        self._closing = False
        self._lingering = False
        self._registered = False
        self._unsent = b""
        self.earliest_ns = earliest_ns
        self.is_closed = False

    def readable(self) -> None:
        """Reads what there is and, unless a request is being worked on, takes up the next one."""
        self._owner.catch_up()
        if self.is_closed:
            return
        if self._busy:
            self._register(False)
            return
        try:
            data, ancillary, _, _ = self._sock.recvmsg(READ_BYTES, ANCILLARY_BYTES)
        except (BlockingIOError, InterruptedError):
            self._register(True)
            return
        except OSError:
            self.close()
            return
        if not data:
            self.close()
        elif not self._lingering:
            self._feed(data, ancillary)
            self._next()
            self._owner.catch_up()

    def send(self, payload: bytes) -> bool:
        """Writes an answer, or keeps what the socket does not take for later; returns False if the client is gone."""
        if self.is_closed:
            return False
        try:
            sent = self._sock.send(payload)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.close()
            return False
        if sent < len(payload):
            self._unsent = payload[sent:]
            self._loop.add_writer(self._sock, self._writable)
        return True

    def answered(self) -> None:
        """Goes on after an answer: the next request, the end, or waiting for more."""
        if self.is_closed or self._unsent:
            return
        self._busy = False
        if self._lingering:
            self._linger()
        elif self._closing:
            self.close()
        else:
            self._next()

    def close(self) -> None:
        """Closes the connection; a second time does nothing."""
        if self.is_closed:
            return
        self.is_closed = True
        self._register(False)
        if self._unsent:
            self._loop.remove_writer(self._sock)
        self._sock.close()
        self._reader.close()
        self._owner.closed(self)

    def _feed(self, data: bytes, ancillary: list[tuple[int, int, bytes]]) -> None:
        now_ns, delay_ns = time.monotonic_ns(), 0
        if ancillary:
            now_ns, delay_ns = ago_ns(ancillary)
            self._owner.read_after(delay_ns)
        self._reader.feed(data, now_ns - delay_ns)
        if self._reader.is_asked_to_go_on:
            with contextlib.suppress(OSError):
                self._sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _next(self) -> None:
        if not self._reader.requests:
            self._register(True)
            return
        request = self._reader.requests.popleft()
        self._busy = True
        self._closing = request.connection == CLOSE
        self._lingering = bool(request.refusal)
        self._owner.begin(self, request)

    def _register(self, wanted: bool) -> None:
        if wanted and not self._registered:
            self._loop.add_reader(self._sock, self.readable)
        elif self._registered and not wanted:
            self._loop.remove_reader(self._sock)
        self._registered = wanted

    def _writable(self) -> None:
        payload, self._unsent = self._unsent, b""
        self._loop.remove_writer(self._sock)
        if self.send(payload):
            self.answered()

    def _linger(self) -> None:
        # Closing with unread bytes would reset the connection, and the client might lose the answer that says why.
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
        self._register(True)
        self._loop.call_later(LINGER_S, self.close)
