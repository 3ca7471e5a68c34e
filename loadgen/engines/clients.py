"""What the engines over client libraries share: the request they send, TLS, the pace, and the row of one exchange.

Knows no client library. An engine gives it a way to send (which raises the library's own errors) and a way to turn
such an error into an Outcome; everything that both would do alike is here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Final

from loadgen.engines import Job
from loadgen.errors import UsageError
from loadgen.kernel import total_retrans
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Workload
from loadgen.samples import MISSING, Recorder

MAX_RESENT: Final = 32767
"""What the samples column holds at most."""


class Exchange:
    """The row of one request while it is carried out, and what its outcome is decided from.

    Invariants: due = begun; the outcome is written last, and only when the request was not cancelled.
    """

    __slots__ = (
        "_before", "_due_s", "_limit", "_recorder", "_row", "_sock", "_workload", "bytes_in", "fault", "is_connected",
        "saw_eof", "server_timing",
    )  # fmt: skip

    def __init__(self, recorder: Recorder, row: int, workload: Workload) -> None:
        self._recorder = recorder
        self._row = row
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
        return bool(self._recorder.reused[self._row])

    @property
    def is_answered(self) -> bool:
        """A complete head has come."""
        return self._recorder.status[self._row] != MISSING

    def connected(self) -> None:
        """A fresh connection is established, now."""
        self._recorder.connected[self._row] = perf_counter_ns()
        self._lift_connect_limit()

    def reuses(self) -> None:
        """The request goes out on a connection that stood before."""
        self._recorder.reused[self._row] = 1
        self._lift_connect_limit()

    def watch(self, sock: socket.socket | None) -> None:
        """From now on `resent` is read from this socket; what it resent for earlier requests does not count."""
        self._sock = sock
        self._before = _resent_on(sock) if self.is_reused else 0

    def look(self) -> None:
        """Reads `resent` from the socket. A closed one leaves it as it was."""
        now = _resent_on(self._sock)
        if MISSING not in (now, self._before):
            self._recorder.resent[self._row] = min(now - self._before, MAX_RESENT)

    def first_byte(self) -> None:
        """The first byte of the response is read, now; only the first call counts."""
        if self._recorder.first_byte[self._row] == MISSING:
            self._recorder.first_byte[self._row] = perf_counter_ns()

    def head(self, status: int) -> None:
        """The head of the response is complete."""
        self._recorder.status[self._row] = status

    async def carry_out(self, send: Send, classify: Classify) -> None:
        """Sends, reads the whole response, and writes the row.

        Raises:
            UsageError: the library cannot send this request at all.
        """
        recorder, row, workload = self._recorder, self._row, self._workload
        limit_s = min(workload.timeout_s, workload.connect_timeout_s or workload.timeout_s)
        self._due_s = asyncio.get_running_loop().time()
        recorder.due[row] = recorder.begun[row] = perf_counter_ns()
        try:
            async with asyncio.timeout_at(self._due_s + limit_s) as self._limit:
                await send(self)
            outcome = Outcome.from_status(recorder.status[row])
            recorder.note_server_timing(row, self.server_timing)
        except UsageError:
            raise
        except Exception as error:
            outcome = self._timed_out() if self._limit.expired() else classify(error, self)
        recorder.done[row] = perf_counter_ns()
        self.look()
        recorder.bytes_in[row] = self.bytes_in
        recorder.outcome[row] = outcome

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


async def carry_out(job: Job, sends: Sequence[Send], classify: Classify) -> None:
    """Carries out the schedule with one worker for each of `sends`; returns when all requests have ended.

    All workers are made first and begin in the same turn of the event loop. Each takes the next row when its last has
    ended.
    """
    recorder, workload = job.recorder, job.plan.workload
    rows = iter(range(job.schedule.requests))

    async def work(send: Send) -> None:
        for row in rows:
            exchange = Exchange(recorder, row, workload)
            current.set(exchange)
            await exchange.carry_out(send, classify)

    workers = [asyncio.create_task(work(send)) for send in sends]
    recorder.release()
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def check(plan: Plan) -> None:
    """Refuses what a client library cannot do honestly.

    Raises:
        UsageError: the plan asks for it.
    """
    if plan.workload.preconnect:
        raise UsageError("--preconnect needs the wire engine")


def os_outcome(error: BaseException, otherwise: Outcome) -> Outcome:
    """The outcome of the first known errno among an error and its causes."""
    for cause in causes(error):
        if isinstance(cause, OSError) and (outcome := Outcome.from_errno(cause.errno)):
            return outcome
    return otherwise


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error, its cause, the cause of that, and so on; also those that `raise ... from None` hides."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
