"""What the engines over client libraries share: the request they send, TLS, the pace, and the row of one exchange.

Knows no client library. An engine gives it a way to send (which raises the library's own errors) and a way to turn
such an error into an Outcome; everything that both would do alike is here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Final

from loadgen.engines import Job
from loadgen.engines.timer import Alarm
from loadgen.errors import UsageError
from loadgen.kernel import total_retrans
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Target, Workload
from loadgen.request import Requests
from loadgen.samples import MISSING, Recorder

_GIVE_WAY: Final = 32
"""An open workload that is late lets answers in after so many requests."""

PREPARED: Final = 256
"""Targets for which a library's own form of the request is kept."""

MAX_RESENT: Final = 32767
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
            self._recorder.resent[self.row] = min(now - self._before, MAX_RESENT)

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


async def carry_out(job: Job, sends: Sequence[Send], classify: Classify) -> None:
    """Carries out the schedule, with one of `sends` for each request in flight; returns when all have ended.

    Workers released together are made first and begin in the same turn of the event loop. Each takes the next row when
    its last has ended.
    """
    course = _Course(job, sends, classify)
    try:
        await (course.open() if job.schedule.arrivals is not None else course.closed())
    finally:
        await course.stop()


class _Course:
    """One run's requests as they begin and end."""

    def __init__(self, job: Job, sends: Sequence[Send], classify: Classify) -> None:
        self._job = job
        self._free = list(reversed(sends))
        self._classify = classify
        self._requests = Requests(job.plan, job.schedule.shard)
        self._next = 0
        self._users = 0
        """Who should be there."""
        self._present = 0
        """Who are: one too many leaves after the answer."""
        self._live: dict[Exchange, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thinkers: set[asyncio.Task[None]] = set()
        self._trouble: BaseException | None = None

    async def open(self) -> None:
        """Each request when it is due; at the cap it has failed, for want of room on this machine."""
        await self._job.release_comes()
        release_ns = self._job.recorder.release(self._job.release_at_ns)
        self._start(self._arrive(release_ns))
        await self._all_ended()

    async def closed(self) -> None:
        """Users, who come and go at their moments."""
        await self._job.release_comes()
        self._set_users(self._job.schedule.released)
        release_ns = self._job.recorder.release(self._job.release_at_ns)
        if self._job.schedule.changes:
            self._start(self._come_and_go(release_ns))
        await self._all_ended()

    async def stop(self) -> None:
        """Ends what is still under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._job.schedule.requests is None:
            self._job.recorder.used = self._next

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self._trouble is None:
            self._trouble = error
            for other in self._tasks:
                other.cancel()

    async def _all_ended(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)
        if self._trouble is not None:
            raise self._trouble

    async def _arrive(self, release_ns: int) -> None:
        arrivals = self._job.schedule.arrivals
        assert arrivals is not None
        with Alarm() as alarm:
            for block in arrivals.blocks():
                for number, due_ns in enumerate((block + release_ns).tolist()):
                    await alarm.until(due_ns)
                    if number % _GIVE_WAY == 0:
                        await asyncio.sleep(0)
                    if self._free:
                        self._start(self._once(self._exchange(due_ns), self._free.pop(), due_ns))
                    else:
                        self._row_at_the_cap(due_ns)

    async def _come_and_go(self, release_ns: int) -> None:
        with Alarm() as alarm:
            for change in self._job.schedule.changes:
                await alarm.until(release_ns + change.at_ns)
                self._set_users(change.users)
        self._end_thinking()

    def _set_users(self, users: int) -> None:
        self._users = users
        while self._present < users:
            self._present += 1
            self._start(self._user(self._free.pop()))

    async def _once(self, exchange: Exchange, send: Send, due_ns: int) -> None:
        await self._carry_out(exchange, send, due_ns)
        self._free.append(send)

    async def _user(self, send: Send) -> None:
        while self._present <= self._users and not self._has_begun_all:
            await self._carry_out(self._exchange(), send)
            if self._job.schedule.think_ns and not self._has_begun_all:
                await self._think()
        self._present -= 1
        self._free.append(send)

    async def _think(self) -> None:
        thinker = asyncio.current_task()
        assert thinker is not None
        self._thinkers.add(thinker)
        await asyncio.sleep(self._job.schedule.think_ns / 1e9)
        self._thinkers.discard(thinker)

    def _end_thinking(self) -> None:
        """Nothing begins any more: the run need not wait for those who would."""
        for thinker in self._thinkers:
            thinker.cancel()

    @property
    def _has_begun_all(self) -> bool:
        requests = self._job.schedule.requests
        return requests is not None and self._next >= requests

    async def _carry_out(self, exchange: Exchange, send: Send, due_ns: int | None = None) -> None:
        current.set(exchange)
        await exchange.carry_out(send, self._classify, due_ns)
        del self._live[exchange]

    def _exchange(self, due_ns: int | None = None) -> Exchange:
        """That of the next request. One that is due has its row from now on, even if it is never begun."""
        row = self._take()
        if due_ns is not None:
            self._job.recorder.due[row] = due_ns
        number, seq = self._requests.take()
        self._job.recorder.target[row] = number
        target = self._requests.target(number, seq)
        exchange = Exchange(self._job.recorder, row, self._job.plan.workload, target)
        self._live[exchange] = None
        return exchange

    def _take(self) -> int:
        """The next row; where nobody counts them, room is made for it."""
        recorder = self._job.recorder
        if self._next == recorder.rows:
            moved = recorder.more([exchange.row for exchange in self._live])
            if moved is not None:
                for row, exchange in enumerate(self._live):
                    exchange.row = row
                self._next = moved
        self._next += 1
        if self._has_begun_all:
            self._end_thinking()
        return self._next - 1

    def _row_at_the_cap(self, due_ns: int) -> None:
        row, recorder = self._take(), self._job.recorder
        recorder.target[row], _ = self._requests.take()
        recorder.due[row], recorder.done[row] = due_ns, perf_counter_ns()
        recorder.outcome[row] = Outcome.CLIENT


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
