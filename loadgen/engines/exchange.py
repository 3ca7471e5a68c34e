"""The row of one request through a client library while it is carried out, and what its outcome is decided from.

Knows no library: an engine gives a way to send (which raises the library's own errors) and a way to turn such an error
into an Outcome.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Final

from loadgen.errors import UsageError
from loadgen.kernel import total_retrans
from loadgen.outcome import Outcome
from loadgen.plan import Target, Workload
from loadgen.samples import MISSING, Recorder

_MAX_RESENT: Final = 32767
"""What the samples column holds at most."""


class Exchange:
    """The row of one request while it is carried out, and what its outcome is decided from.

    Invariants: due = begun, but in an open workload; the outcome is written last, and only when the request was not
    cancelled.
    """

    __slots__ = (
        "_before", "_due_s", "_limit", "_recorder", "_sock", "_workload", "bytes_in", "fault", "is_connected", "row",
        "saw_eof", "server_timing", "target",
    )  # fmt: skip

    def __init__(self, recorder: Recorder, row: int, workload: Workload, target: Target) -> None:
        self._recorder = recorder
        self.row = row
        self.target = target
        """The request, with its placeholders filled in."""
        self._workload = workload
        self._sock: socket.socket | None = None
        self._before = 0
        self.is_connected = False
        """A connection stands, a fresh one or one used again."""
        self.bytes_in = 0
        self.saw_eof = False
        """The server closed its side. Set by engines that see it."""
        self.server_timing: Sequence[str] = ()
        """The Server-Timing fields of the response's head. Set by engines where the plan asks for them."""
        self.fault: Outcome | None = None
        """What went wrong on the wire, where an engine sees that more exactly than its library tells."""

    @property
    def is_reused(self) -> bool:
        """The connection stood before the request began."""
        return bool(self._recorder.reused[self.row])

    @property
    def is_answered(self) -> bool:
        """A complete head has come."""
        return self._recorder.status[self.row] != MISSING

    def connected(self) -> None:
        """A fresh connection is established, now."""
        self._recorder.connected[self.row] = perf_counter_ns()
        self._lift_connect_limit()

    def reuses(self) -> None:
        """The request goes out on a connection that stood before."""
        self._recorder.reused[self.row] = 1
        self._lift_connect_limit()

    def watch(self, sock: socket.socket | None) -> None:
        """From now on `resent` is read from this socket; what it resent for earlier requests does not count."""
        self._sock = sock
        self._before = _resent_on(sock) if self.is_reused else 0

    def look(self) -> None:
        """Reads `resent` from the socket. A closed one leaves it as it was."""
        now = _resent_on(self._sock)
        if MISSING not in (now, self._before):
            self._recorder.resent[self.row] = min(now - self._before, _MAX_RESENT)

    def first_byte(self) -> None:
        """The first byte of the response is read, now; only the first call counts."""
        if self._recorder.first_byte[self.row] == MISSING:
            self._recorder.first_byte[self.row] = perf_counter_ns()

    def head(self, status: int) -> None:
        """The head of the response is complete."""
        self._recorder.status[self.row] = status

    async def carry_out(self, send: Send, classify: Classify, due_ns: int | None = None) -> None:
        """Sends, reads the whole response, and writes the row; due now, if nothing else is given.

        Raises:
            UsageError: the library cannot send this request at all.
        """
        recorder, workload = self._recorder, self._workload
        limit_s = min(workload.timeout_s, workload.connect_timeout_s or workload.timeout_s)
        begun_ns = perf_counter_ns()
        late_ns = 0 if due_ns is None else begun_ns - due_ns
        self._due_s = asyncio.get_running_loop().time() - late_ns / 1e9
        recorder.begun[self.row] = begun_ns
        recorder.due[self.row] = begun_ns - late_ns  # the same memory where all are due when they begin
        try:
            async with asyncio.timeout_at(self._due_s + limit_s) as self._limit:
                await send(self)
            outcome = Outcome.from_status(recorder.status[self.row])
            recorder.note_server_timing(self.row, self.server_timing)
        except UsageError:
            raise
        except Exception as error:
            outcome = self._timed_out() if self._limit.expired() else classify(error, self)
        recorder.done[self.row] = perf_counter_ns()
        self.look()
        recorder.bytes_in[self.row] = self.bytes_in
        recorder.outcome[self.row] = outcome

    def _timed_out(self) -> Outcome:
        return Outcome.TIMEOUT if self.is_connected else Outcome.CONNECT_TIMEOUT

    def _lift_connect_limit(self) -> None:
        self.is_connected = True
        if self._workload.connect_timeout_s is not None and not self._limit.expired():
            self._limit.reschedule(self._due_s + self._workload.timeout_s)


def _resent_on(sock: socket.socket | None) -> int:
    # Event loops hand out a stand-in for the socket, whose descriptor is -1 once it is closed.
    return MISSING if sock is None or sock.fileno() < 0 else total_retrans(sock)


Send = Callable[[Exchange], Awaitable[None]]
"""Sends the request and reads its whole response, telling the exchange of each stage; raises the library's errors."""
Classify = Callable[[Exception, Exchange], Outcome]

current: ContextVar[Exchange] = ContextVar("current")
"""The exchange that the running task carries out: the libraries' hooks are not handed it."""
