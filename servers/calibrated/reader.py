"""Bytes to requests. Knows no socket and no clock."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

MAX_HEAD_BYTES = 65_536

CLOSE = b"Connection: close\r\n"
_KEEP_ALIVE_1_0 = b"Connection: keep-alive\r\n"
_KEEP_ALIVE_1_1 = b""


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


class RequestReader:
    """The requests of one connection. Also the receiver of its parser's callbacks, hence their names.

    Attributes:
        requests: Those read to their end, in order; whoever takes one up removes it.
        is_asked_to_go_on: Whether the last bytes fed end the head of a request that waits for "100 Continue".
    """

    __slots__ = (
        "_arrival_ns",
        "_expects",
        "_head_bytes",
        "_in_body",
        "_parser",
        "_target",
        "is_asked_to_go_on",
        "requests",
    )

    def __init__(self) -> None:
        self._parser: HttpRequestParser | None = HttpRequestParser(self)
        self.requests: deque[Request] = deque()
        self.is_asked_to_go_on = False
        self._target = b""
        self._arrival_ns = 0
        self._head_bytes = 0
        self._in_body = False
        self._expects = False

    def feed(self, data: bytes, arrival_ns: int) -> None:
        """Reads what has arrived at that moment. Nonsense makes a request with a refusal."""
        self._arrival_ns = arrival_ns
        self.is_asked_to_go_on = False
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            # The request is answered as if it had not asked; what follows it is in a language not spoken here.
            if self.requests:
                self.requests.append(self.requests.pop()._replace(connection=CLOSE))
        except HttpParserError as error:
            self._refuse(f"the request is not HTTP/1.1: {error}")
        else:
            if not self._in_body:
                self._head_bytes += len(data)
                if self._head_bytes > MAX_HEAD_BYTES:
                    self._refuse(f"the head of a request: accepted is up to {MAX_HEAD_BYTES} bytes")

    def close(self) -> None:
        """Forgets what was read."""
        # The parser holds this object's methods: without this the two would wait for a garbage collection.
        self._parser = None
        self.requests.clear()

    def _refuse(self, why: str) -> None:
        self.requests.append(Request(b"", b"", CLOSE, self._arrival_ns, " ".join(why.split())))

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
        if self._expects and not self.requests:
            self.is_asked_to_go_on = True

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
        self.requests.append(Request(self._target, parser.get_method(), connection, self._arrival_ns))
