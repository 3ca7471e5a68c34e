"""One socket and the request on it, from connect to outcome.

A connection goes CONNECTING -> (HANDSHAKE ->) IDLE -> WRITING -> READING -> IDLE or closed. It writes the row of the
request that it carries and tells the run when that has ended; it starts nothing by itself.
"""

from __future__ import annotations

import enum
import errno
import socket
import ssl
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from loadgen.engines.wire.owner import Owner
from loadgen.engines.wire.poller import READ, WRITE
from loadgen.engines.wire.response import MalformedError, TimingReader
from loadgen.engines.wire.trouble import broken, closed, not_connected
from loadgen.kernel import total_retrans
from loadgen.outcome import Outcome
from loadgen.samples import MISSING

if TYPE_CHECKING:
    from loadgen.engines.wire.response import ResponseReader


class State(enum.IntEnum):
    """Where a connection is in its life."""

    CONNECTING = 0
    HANDSHAKE = 1
    """Of TLS; the connection is a `TlsConnection`."""
    IDLE = 2
    WRITING = 3
    READING = 4
    LOST = 5
    """Readable while idle, so probably closed by the server; no longer watched."""
    CLOSED = 6


_READING: Final = State.READING  # a global is found faster than a member of an enum


class Connection:
    """A socket, and while it carries one, request number `index` (-1: none)."""

    __slots__ = (
        "_bytes", "_memo", "_reader", "_recv_into", "_request", "_retrans", "_reused", "_send", "_sent", "begun_ns",
        "fd", "index", "run", "sock", "state",
    )  # fmt: skip

    def __init__(self, run: Owner, sock: socket.socket) -> None:
        """Over a new, unconnected, non-blocking socket."""
        self.run = run
        self.sock = sock
        self.fd = sock.fileno()
        self.state = State.CONNECTING
        self.index = -1
        self.begun_ns = 0
        self._recv_into: Callable[[bytearray], int] = sock.recv_into
        self._send: Callable[[bytes | memoryview], int] = sock.send
        self._reader: ResponseReader | None = None
        self._request = run.request
        self._memo = run.memo
        self._retrans = 0
        self._reused = False
        self._sent = 0
        self._bytes = 0

    # Beginning

    def connect(self) -> None:
        """Starts connecting; a request already given by `begin` is written as soon as that is done."""
        error = self.sock.connect_ex(self.run.sockaddr)
        if error == 0:
            self.run.poller.register(self.fd, READ)
            self._connected()
        elif error == errno.EINPROGRESS:
            self.run.poller.register(self.fd, WRITE)
        else:
            self._failed(not_connected(error))

    def begin(self, index: int, due_ns: int | None = None) -> None:
        """Takes on a request: it begins now, and is due now if nothing else is given. On an idle connection it is
        written at once."""
        self.index = index
        self._sent = 0
        self._bytes = 0
        if self.run.varies:
            self._request, self._memo = self.run.next_request(index)
        recorder = self.run.recorder
        now = perf_counter_ns()
        self.begun_ns = now
        recorder.begun[index] = now
        recorder.due[index] = now if due_ns is None else due_ns  # the same memory where all are due when they begin
        if self.state == State.LOST:  # it is sent nevertheless: the row will say what came of it
            self.run.poller.register(self.fd, READ)
            self.state = State.IDLE
        if self.state == State.IDLE:
            self._reused = True
            recorder.reused[index] = 1
            self._write()

    # Readiness

    def handle(self, events: int) -> None:
        """Does what the socket is ready for."""
        if self.state == _READING:
            self._read()
        elif self.state == State.WRITING:
            if events & ~WRITE:
                self._read()  # an answer, or an error, before the request was out
            if self.state == State.WRITING and events & WRITE:
                self._write()
        elif self.state == State.CONNECTING:
            error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self._failed(not_connected(error))
            else:
                self.run.poller.modify(self.fd, READ)
                self._connected()
        elif self.state == State.IDLE:
            # Watched on, it would be reported again and again.
            self.run.poller.unregister(self.fd)
            self.state = State.LOST
            self.run.idle_lost(self)

    def _connected(self) -> None:
        if self.index >= 0:
            self.run.recorder.connected[self.index] = perf_counter_ns()
        self._established()

    def _established(self) -> None:
        """TCP is connected."""
        self._ready()

    def _ready(self) -> None:
        self.state = State.IDLE
        if self.index >= 0:
            self._write()
        else:
            self._retrans = total_retrans(self.sock)
            self.run.preconnected(self, None)

    def _write(self) -> None:
        request = self._request
        try:
            sent = self._send(request if self._sent == 0 else memoryview(request)[self._sent :])
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            sent = 0
        except OSError as error:
            self._end(broken(error, was_idle=self._was_idle), perf_counter_ns())
            return
        self._sent += sent
        if self._sent == len(request):
            if self.state == State.WRITING:
                self.run.poller.modify(self.fd, READ)
            self.state = State.READING
        elif self.state != State.WRITING:
            self.state = State.WRITING
            self.run.poller.modify(self.fd, READ | WRITE)

    def _read(self) -> None:
        """Takes what has come.

        The path of a steady load: a response equal to the last one, after which the connection takes the next request.
        It is written out here, with nothing called but the socket and the clock, because at 100,000 requests a second
        a call to a function is one part in a hundred.
        """
        run = self.run
        buffer = run.buffer
        try:
            size = self._recv_into(buffer)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            self._end(broken(error, was_idle=self._was_idle), perf_counter_ns())
            return
        now = perf_counter_ns()
        memo = self._memo
        if size != memo.size or self._bytes or not buffer.startswith(memo.data):
            self._parse(bytes(memoryview(buffer)[:size]), now)
            return
        recorder = run.recorder
        index = self.index
        recorder.first_byte[index] = now
        recorder.bytes_in[index] = size
        recorder.status[index] = memo.status
        following = run.next_index
        if (
            now - self.begun_ns > run.resend_visible_ns
            or not memo.keep_alive
            or following >= run.chain_until
            or self.state != _READING
        ):
            self._end(memo.outcome, now, keep_alive=memo.keep_alive)
            return
        recorder.done[index] = now
        recorder.resent[index] = run.none_resent
        recorder.outcome[index] = memo.outcome
        run.next_index = following + 1
        self.index = following
        self.begun_ns = now
        recorder.begun[following] = now
        recorder.reused[following] = 1
        self._reused = True
        try:
            sent = self._send(run.request)
        except OSError:  # it will be met again where it is dealt with
            sent = 0
        if sent != run.request_size:
            self._sent = sent
            self.state = State.IDLE
            self._write()

    def _parse(self, data: bytes, now: int) -> None:
        """What `_read` does with bytes that are not a known response."""
        reader = self._reader
        if reader is None:
            reader = self._reader = self.run.reader_kind(head_only=self._memo.head_only)
        elif self._bytes == 0:
            reader.begin(head_only=self._memo.head_only)
        whole = self._bytes == 0
        if whole and data:
            self.run.recorder.first_byte[self.index] = now
        self._bytes += len(data)
        self.run.recorder.bytes_in[self.index] = self._bytes
        malformed = False
        try:
            if data:
                reader.feed(data)
            else:
                reader.feed_eof()
        except MalformedError:
            malformed = True
        if reader.status >= 200 or reader.complete:
            self.run.recorder.status[self.index] = reader.status
        if malformed:
            self._end(Outcome.PROTOCOL, now)
            return
        if reader.complete:
            outcome = Outcome.from_status(reader.status)
            if isinstance(reader, TimingReader) and reader.server_timing:  # not remembered: each row has its own
                self.run.recorder.note_server_timing(self.index, reader.server_timing)
            elif whole and data:
                keep_alive = reader.keep_alive and self.run.reuse
                self._memo.remember(data, reader.status, outcome, keep_alive=keep_alive)
            self._end(outcome, now, keep_alive=reader.keep_alive)
        elif not data:
            self._end(closed(was_idle=self._was_idle), now)

    # Ending

    def expire(self) -> None:
        """The request's time is up."""
        outcome = Outcome.CONNECT_TIMEOUT if self.state == State.CONNECTING else Outcome.TIMEOUT
        self._end(outcome, perf_counter_ns())

    def close(self) -> None:
        """Closes the socket."""
        self.state = State.CLOSED
        self.sock.close()

    def _end(self, outcome: Outcome, now: int, *, keep_alive: bool = False) -> None:
        """Writes the end of the row, and lets the run go on."""
        index = self.index
        run = self.run
        recorder = run.recorder
        recorder.done[index] = now
        if now - self.begun_ns <= run.resend_visible_ns:
            recorder.resent[index] = run.none_resent
        else:
            retrans = total_retrans(self.sock)
            if retrans != MISSING:
                recorder.resent[index] = min(retrans - self._retrans, 32767)
                self._retrans = retrans
        recorder.outcome[index] = outcome
        self.index = -1
        # Left-over request bytes would be taken for the next request's.
        if keep_alive and run.reuse and self.state == State.READING:
            self.state = State.IDLE
        else:
            self.close()
        run.ended(self)

    def _failed(self, outcome: Outcome) -> None:
        if self.index >= 0:
            self._end(outcome, perf_counter_ns())
        else:
            self.close()
            self.run.preconnected(self, outcome)

    @property
    def _was_idle(self) -> bool:
        """It had stood idle before this request, of whose response no byte has come."""
        return self._reused and self._bytes == 0
