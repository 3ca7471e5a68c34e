"""One client's connection: bytes to requests, answers to bytes. What a request means is the server's business.

A connection is not read while a request of it is worked on: what comes meanwhile waits in the kernel, as with a server
of threads. That keeps the answers in order and needs no bounds of its own. It also means that a client that goes away
in the middle of its service is noticed when the answer is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
import time
from collections import deque
from typing import NamedTuple, Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from servers.calibrated.settings import NS_PER_S

READ_BYTES = 16_384
MAX_HEAD_BYTES = 65_536
# How long a client that sent nonsense may take to read why, before the connection is cut.
LINGER_S = 2.0

CLOSE = b"Connection: close\r\n"
_KEEP_ALIVE_1_0 = b"Connection: keep-alive\r\n"
_KEEP_ALIVE_1_1 = b""

# SO_TIMESTAMPNS of Linux on the architectures of asm-generic; Python 3.11 does not name it.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("qq")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size) if hasattr(socket, "CMSG_SPACE") else 0


_SAME_MOMENT_NS = 20_000


def _both_clocks() -> tuple[int, int]:
    """The monotonic and the wall clock at the same moment, in ns: read again where something came between them."""
    while True:
        before_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        after_ns = time.monotonic_ns()
        if after_ns - before_ns < _SAME_MOMENT_NS:
            return after_ns, wall_ns


class Request(NamedTuple):
    """One request, read to its end.

    Attributes:
        target: Path and query, as sent.
        method: As sent; empty if the request was not understood.
        connection: The Connection header line of the answer.
        arrival_ns: When its last byte arrived.
        refusal: Why it was not understood; the connection ends with it. Empty if it was.
    """

    target: bytes
    method: bytes
    connection: bytes
    arrival_ns: int
    refusal: str = ""


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


def stamp_arrivals(listener: socket.socket) -> bool:
    """Makes the kernel stamp what arrives on the sockets accepted from this one; returns whether it does."""
    if sys.platform != "linux" or not _ANCILLARY_BYTES:
        return False
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


class Connection:
    """One accepted connection. Also the receiver of its parser's callbacks, hence their names.

    Args:
        sock: The accepted, non-blocking socket; the connection owns it from here on.
        owner: The server.
        loop: The running loop.
        earliest_ns: No service of this connection begins before.
    """

    __slots__ = (
        "_arrival_ns",
        "_busy",
        "_closing",
        "_expects",
        "_head_bytes",
        "_in_body",
        "_lingering",
        "_loop",
        "_owner",
        "_parser",
        "_registered",
        "_requests",
        "_sock",
        "_target",
        "_unsent",
        "earliest_ns",
        "is_closed",
    )

    def __init__(self, sock: socket.socket, owner: Owner, loop: asyncio.AbstractEventLoop, earliest_ns: int) -> None:
        self._sock = sock
        self._owner = owner
        self._loop = loop
        self._parser: HttpRequestParser | None = HttpRequestParser(self)
        self._requests: deque[Request] = deque()
        self._target = b""
        self._arrival_ns = 0
        self._head_bytes = 0
        self._in_body = False
        self._expects = False
        self._busy = False
        self._closing = False
        self._lingering = False
        self._registered = False
        self._unsent = b""
        self.earliest_ns = earliest_ns
        self.is_closed = False

    # The socket

    def readable(self) -> None:
        """Reads what there is and, unless a request is being worked on, takes up the next one."""
        self._owner.catch_up()
        if self.is_closed:
            return
        if self._busy:
            self._register(False)
            return
        try:
            data, ancillary, _, _ = self._sock.recvmsg(READ_BYTES, _ANCILLARY_BYTES)
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
        # The parser holds this object's methods: without this the two would wait for a garbage collection.
        self._parser = None
        self._requests.clear()
        self._owner.closed(self)

    def _next(self) -> None:
        if not self._requests:
            self._register(True)
            return
        request = self._requests.popleft()
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

    # The parser

    def _feed(self, data: bytes, ancillary: list[tuple[int, int, bytes]]) -> None:
        now_ns = time.monotonic_ns()
        self._arrival_ns = now_ns
        if ancillary:
            seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
            # The stamp is of the wall clock. Only how long ago it was is taken: setting the clock then does no harm.
            now_ns, wall_ns = _both_clocks()
            ago_ns = max(0, wall_ns - seconds * NS_PER_S - nanoseconds)
            self._arrival_ns = now_ns - ago_ns
            self._owner.read_after(ago_ns)
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            # The request is answered as if it had not asked; what follows it is in a language not spoken here.
            if self._requests:
                self._requests.append(self._requests.pop()._replace(connection=CLOSE))
        except HttpParserError as error:
            self._refuse(f"the request is not HTTP/1.1: {error}")
        else:
            if not self._in_body:
                self._head_bytes += len(data)
                if self._head_bytes > MAX_HEAD_BYTES:
                    self._refuse(f"the head of a request: accepted is up to {MAX_HEAD_BYTES} bytes")

    def _refuse(self, why: str) -> None:
        self._requests.append(Request(b"", b"", CLOSE, self._arrival_ns, " ".join(why.split())))

    def on_message_begin(self) -> None:
        """Begins a request."""
        self._target = b""
        self._expects = False

    def on_url(self, url: bytes) -> None:
        """Takes the target, or a part of it."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Looks for the one header that needs something done before the request ends."""
        if len(name) == 6 and name.lower() == b"expect":
            self._expects = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        """Ends the head."""
        self._in_body = True
        if self._expects and not self._requests:
            with contextlib.suppress(OSError):
                self._sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_message_complete(self) -> None:
        """Ends a request."""
        parser = self._parser
        assert parser is not None
        self._in_body = False
        self._head_bytes = 0
        if not parser.should_keep_alive():
            connection = CLOSE
        else:
            connection = _KEEP_ALIVE_1_0 if parser.get_http_version() == "1.0" else _KEEP_ALIVE_1_1
        self._requests.append(Request(self._target, parser.get_method(), connection, self._arrival_ns))
