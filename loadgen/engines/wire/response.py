"""When a response is complete, and whether it is well-formed. No I/O: bytes in, state out.

llhttp (httptools) does the parsing. What is added here: answers to HEAD have no body whatever their headers say,
interim (1xx) responses come before the one that counts, a body may end with the connection, bytes beyond a complete
response are an error, and a head has a largest size.
"""

from __future__ import annotations

from typing import Final

import httptools

from loadgen.outcome import Outcome

MAX_HEAD_BYTES: Final = 256 * 1024

_SWITCHING_PROTOCOLS: Final = 101


class MalformedError(Exception):
    """The bytes are not one well-formed response."""


class ResponseReader:
    """Reads responses one after another on one connection."""

    __slots__ = (
        "_connection",
        "_head_done",
        "_head_only",
        "_head_size",
        "_parser",
        "_sized",
        "complete",
        "keep_alive",
        "status",
    )

    def __init__(self, *, head_only: bool) -> None:
        """A reader; `head_only` for answers to HEAD."""
        self._head_only = head_only
        self._parser = httptools.HttpResponseParser(self)
        self._reset()

    def begin(self, *, head_only: bool) -> None:
        """Makes ready for the next response on this connection."""
        if self._head_only:  # the old parser still waits for the body that an answer to HEAD does not have
            self._parser = httptools.HttpResponseParser(self)
        self._head_only = head_only
        self._reset()

    def _reset(self) -> None:
        self.complete = False
        self.keep_alive = False
        self.status = 0
        self._head_done = False
        self._head_size = 0
        self._sized = False
        self._connection: set[bytes] = set()

    def feed(self, data: bytes) -> None:
        """Takes bytes as they came; afterwards `complete` says whether the response is.

        Raises:
            MalformedError: they are not a response, go on beyond its end, or head or trailers are over MAX_HEAD_BYTES.
        """
        self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # 101: what follows is another protocol's
        except httptools.HttpParserError as error:
            raise MalformedError(str(error)) from None
        if self._head_size > MAX_HEAD_BYTES:
            raise MalformedError(f"a head, or trailers, of more than {MAX_HEAD_BYTES} bytes")

    def feed_eof(self) -> None:
        """The connection ended; afterwards `complete` says whether that was the end of a body without a stated length.

        Raises:
            MalformedError: it ended within a body.
        """
        if not self._head_done:
            return
        if self._sized:
            raise MalformedError("a body shorter than announced")
        self.complete = True
        self.keep_alive = False

    # httptools looks these up by name.

    def on_message_begin(self) -> None:
        """A response begins; a second one was not asked for."""
        if self.complete:
            raise MalformedError("bytes beyond the response")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Notes whether the body's end is stated."""
        name = name.lower()
        if name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value.lower()):
            self._sized = True
        elif name == b"connection" and self._head_only:
            self._connection |= {option.strip() for option in value.lower().split(b",")}

    def on_headers_complete(self) -> None:
        """The head is there."""
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._head_done = True
            if self._head_only:
                self._finish()

    def on_body(self, body: bytes) -> None:
        """Some of the body, which is counted elsewhere and not kept."""
        self._head_size = 0  # what follows the last of it are trailers
        if self._head_only:
            raise MalformedError("a body in an answer to HEAD")

    def on_message_complete(self) -> None:
        """The response, or an interim one, is there."""
        if self.complete:  # an answer to HEAD
            return
        if self.status >= 200 or self.status == _SWITCHING_PROTOCOLS:
            self._finish()
        else:
            self._head_size = 0
            self._sized = False
            self._connection.clear()

    def _finish(self) -> None:
        self.complete = True
        if self._head_only:
            self.keep_alive = self._stays_after_head()
        else:
            self.keep_alive = self._parser.should_keep_alive() and self.status != _SWITCHING_PROTOCOLS

    def _stays_after_head(self) -> bool:
        """RFC 9112, 9.3. The parser, not told of HEAD, would let a body of unstated length end the connection."""
        if b"close" in self._connection or self.status == _SWITCHING_PROTOCOLS:
            return False
        return b"keep-alive" in self._connection or self._parser.get_http_version() == "1.1"


class TimingReader(ResponseReader):
    """As `ResponseReader`, and keeps what the head of the response that counts has as Server-Timing."""

    __slots__ = ("server_timing",)

    def __init__(self, *, head_only: bool) -> None:
        """A reader; `head_only` for answers to HEAD."""
        super().__init__(head_only=head_only)
        self.server_timing: list[str] = []

    def on_message_begin(self) -> None:
        """A response begins, maybe an interim one came before."""
        super().on_message_begin()
        self.server_timing = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps the field, and notes what the other readers do. Trailers come here too."""
        super().on_header(name, value)
        if not self._head_done and name.lower() == b"server-timing":
            self.server_timing.append(value.decode("latin-1"))


class Memo:
    """The last response of a target that came whole in one read, and what it was.

    Parsing is a function of the bytes, and of whether they answer HEAD, so a read that equals it need not be parsed:
    most servers under a steady load give the same answer again and again.
    """

    __slots__ = ("data", "head_only", "keep_alive", "outcome", "size", "status")

    def __init__(self, *, head_only: bool) -> None:
        """For answers to HEAD, or for others."""
        self.head_only = head_only
        self.data = b""
        self.size = -1
        self.status = 0
        self.outcome = Outcome.OK
        self.keep_alive = False

    def remember(self, data: bytes, status: int, outcome: Outcome, *, keep_alive: bool) -> None:
        """Takes the place of the one before."""
        self.data = data
        self.size = len(data)
        self.status = status
        self.outcome = outcome
        self.keep_alive = keep_alive
