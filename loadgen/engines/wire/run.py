"""One run of the wire engine: releases requests, dispatches readiness, bounds their time."""

from __future__ import annotations

import asyncio
import socket
from time import perf_counter_ns
from typing import Final

from loadgen.engines import Job
from loadgen.engines.wire.agenda import Agenda
from loadgen.engines.wire.connection import Connection, State
from loadgen.engines.wire.deadlines import Deadlines
from loadgen.engines.wire.poller import make_poller
from loadgen.engines.wire.pool import Pool
from loadgen.engines.wire.response import Memo, ResponseReader, TimingReader
from loadgen.engines.wire.tls_connection import TlsConnection
from loadgen.kernel import HAS_TCP_INFO
from loadgen.outcome import Outcome
from loadgen.request import Requests
from loadgen.samples import MISSING
from loadgen.schedule import Schedule
from loadgen.tls import tls_context

_READ_SIZE: Final = 65536
_BATCH: Final = 512
_BATCH_ON_TIME: Final = 64
_WHEN_ANSWERED: Final = 1
_WHEN_DUE: Final = 16
"""How many of the requests that are due begin together, after an answer and when the timer has gone off."""
_TURN_NS: Final = 5_000_000
"""For so long the engine goes on with what is ready before it lets the loop do anything else."""
_BEGIN_TURN_NS: Final = 1_000_000
"""For so long requests are begun without a look at what has been answered already."""
_ONE_SEGMENT: Final = 1200
_RESENT_ALONE_NS: Final = 190_000_000
"""A segment that is alone on its way is not sent again sooner: the least retransmission time-out is 200 ms, and a tail
loss probe then waits as long besides (tcp_schedule_loss_probe in net/ipv4/tcp_output.c). A SYN waits 1 s."""
_RESENT_NS: Final = 2_000_000
"""Of several segments, a probe for the last waits two ticks of the kernel or more."""


class WireEngine:
    """Requests on sockets of its own, released together."""

    async def run(self, job: Job) -> None:
        """See `loadgen.engines.Engine.run`."""
        run = WireRun(job)
        try:
            await run.carry_out()
        finally:
            run.close()


class WireRun:
    """The state of one run: what lets requests begin, and when it is over.

    Connections read its public attributes and report to `ended`, `idle_lost` and `preconnected`; the agenda tells what
    is due.
    """

    def __init__(self, job: Job) -> None:
        target, workload = job.plan.target, job.plan.workload
        self.recorder = job.recorder
        self.sockaddr = job.address.sockaddr
        self._requests = Requests(job.plan, job.schedule.shard)
        self.varies = self._requests.constant is None
        """Whether each request is to be asked for by `next_request`; else all are `request`, and `memo` is of all."""
        self.request = self._requests.constant or b""
        self.reader_kind = TimingReader if job.plan.server_timing else ResponseReader
        self.reuse = workload.reuses_connections
        self.tls = tls_context(target, alpn=("http/1.1",))
        self.server_hostname = target.host
        self._kind = Connection if self.tls is None else TlsConnection
        self.none_resent = 0 if HAS_TCP_INFO else MISSING
        self.request_size = len(self.request)
        longest = self._requests.longest if self.varies else self.request_size
        self.resend_visible_ns = _RESENT_ALONE_NS if longest <= _ONE_SEGMENT else _RESENT_NS
        """Requests that were quicker are not asked how often their connection sent again."""
        self.next_index = 0
        """The row of the next request to begin; none is left at `last_index`."""
        self._is_counted = job.schedule.requests is not None
        self.last_index = job.recorder.rows if job.schedule.requests is None else job.schedule.requests
        self.chain_until = 0
        """Up to this row a connection takes the next request by itself, without asking the run."""
        self._memos = [Memo(head_only=target.method == "HEAD") for target in job.plan.targets]
        self.memo = self._memos[0]
        self.buffer = bytearray(_READ_SIZE)
        """What is read goes here first, whatever the connection."""
        self.poller = make_poller()
        self._family = job.address.family
        self._schedule = job.schedule
        self._job = job
        self._agenda = Agenda(self, job.schedule, self.poller) if _has_moments(job.schedule) else None
        self._most = job.schedule.in_flight if job.schedule.arrivals else job.schedule.released
        """How many may be in flight: users there are now, or the cap of an open workload."""
        self._ends = False
        """Nothing begins any more, as if all requests had been."""
        self._preconnects = workload.preconnect
        self._connect_s = min(workload.timeout_s, workload.connect_timeout_s or workload.timeout_s)
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._pool = Pool(self._new_connection)
        self._deadlines = Deadlines(self._pool.live, self.recorder, workload)
        self._refused_early: list[Outcome] = []
        self._in_flight = 0
        self._filling = False
        """Requests are being begun, by a loop that goes on by itself."""

    # The course of a run

    async def carry_out(self) -> None:
        """Releases the first requests, then waits until the last has ended."""
        self._loop.add_reader(self.poller.fileno(), self._drain if self._agenda is None else self._drain_on_time)
        if self._preconnects:
            ready = self._pool.connect(self._schedule.released)
            await asyncio.wait([ready, self._finished], timeout=self._connect_s, return_when=asyncio.FIRST_COMPLETED)
            self._refused_early = self._pool.connected()
        else:
            self._pool.prepare(self._schedule.released)
        await self._job.release_comes()
        self._release()
        self._deadlines.start()
        await self._finished

    def close(self) -> None:
        """Closes every socket that is still open."""
        self.stop_beginning()
        if not self._is_counted:
            self.recorder.used = self.next_index
        self._deadlines.stop()
        self._loop.remove_reader(self.poller.fileno())
        self._pool.close()
        if self._agenda is not None:
            self._agenda.close()
        self.poller.close()

    def _new_connection(self) -> Connection:
        sock = socket.socket(self._family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._kind(self, sock)

    def _release(self) -> None:
        """Begins the first requests, as close together as they can be."""
        self._filling = True
        release_ns = self.recorder.release(self._job.release_at_ns)
        turn_ends = perf_counter_ns() + _BEGIN_TURN_NS
        self._allow_chains()
        for outcome in self._refused_early:
            self._row_without_connection(outcome, perf_counter_ns())
        while self.next_index < self._schedule.released:
            self._begin_next()
            if perf_counter_ns() > turn_ends:
                # A quick server has answered some by now, and their times must not wait for the end of the release.
                self._drain()
                turn_ends = perf_counter_ns() + _BEGIN_TURN_NS
        if self._agenda is not None:
            self._agenda.begin(release_ns)
        self._fill()

    def _fill(self) -> None:
        """Begins requests while there are users without one; ends the run when none is left to begin."""
        self._filling = True
        turn_ends = perf_counter_ns() + _BEGIN_TURN_NS
        while self._is_closed and self._busy_users < self._most and self._has_row():
            if not self._begin_next():
                if self._schedule.think_ns and self._agenda is not None:
                    self._agenda.think(perf_counter_ns())
                elif self._in_flight:
                    break  # no room on this machine until one of those has ended
            if perf_counter_ns() > turn_ends:  # many, or each failed at once: let the loop see to the others between
                self._loop.call_soon(self._fill)
                return
        self._filling = False
        self._finish_if_over()

    def _finish_if_over(self) -> None:
        if self._in_flight == 0 and self._has_begun_all and not self._finished.done():
            self._finished.set_result(None)

    @property
    def _is_closed(self) -> bool:
        return self._schedule.arrivals is None

    @property
    def _has_begun_all(self) -> bool:
        return self._ends or (self._is_counted and self.next_index >= self.last_index)

    @property
    def _busy_users(self) -> int:
        """Users who wait for an answer, or think."""
        return self._in_flight + (len(self._agenda.thinking) if self._agenda else 0)

    def _has_row(self) -> bool:
        """Whether another request may begin. Where nobody counts them, room is made for it."""
        if self.next_index < self.last_index:
            return True
        if self._is_counted or self._ends:
            return False
        live = [connection for connection in self._pool.live.values() if connection.index >= 0]
        moved = self.recorder.more([connection.index for connection in live])
        if moved is not None:
            for index, connection in enumerate(live):
                connection.index = index
            self.next_index = moved
        self.last_index = self.recorder.rows
        self._allow_chains()
        return True

    def _allow_chains(self) -> None:
        """Whether a connection may go on by itself: only where nothing but an answer lets a request begin."""
        may = self._is_closed and not self.varies and not self._schedule.think_ns and self._in_flight <= self._most
        self.chain_until = self.last_index if may else 0

    def _begin_next(self, due_ns: int | None = None) -> bool:
        """Begins the next request, on a connection that waits for one or a new one; False where there was no room."""
        try:
            connection = self._pool.take()
        except OSError:
            self._row_without_connection(Outcome.CLIENT, perf_counter_ns() if due_ns is None else due_ns)
            return False
        index = self.next_index
        self.next_index = index + 1
        self._in_flight += 1
        connection.begin(index, due_ns)
        if connection.state == State.CONNECTING:
            connection.connect()
        return True

    def _row_without_connection(self, outcome: Outcome, due_ns: int) -> None:
        """The row of a request that could not begin, and never will."""
        index = self.next_index
        self.next_index = index + 1
        recorder = self.recorder
        recorder.target[index], _ = self._requests.take()
        recorder.due[index] = due_ns
        recorder.done[index] = perf_counter_ns()
        if self._is_closed:  # its users are due when they begin
            recorder.begun[index] = recorder.done[index] = due_ns
        recorder.outcome[index] = outcome

    def next_request(self, index: int) -> tuple[bytes, Memo]:
        """The request that goes out for this row, where they vary, and the memo of its answers."""
        number, seq = self._requests.take()
        self.recorder.target[index] = number
        return self._requests.encoded(number, seq), self._memos[number - 1]

    # What the agenda tells

    def begin_due(self, due_ns: int) -> None:
        """See `Paced`. At the cap it is not forgotten: it has failed, for want of room on this machine."""
        if not self._has_row():
            return
        if self._in_flight < self._most:
            self._begin_next(due_ns)
        else:
            self._row_without_connection(Outcome.CLIENT, due_ns)

    def wake_user(self) -> None:
        """See `Paced`. One too many leaves."""
        if not self._filling:
            self._fill()

    def set_users(self, users: int) -> None:
        """See `Paced`."""
        self._most = users
        self._allow_chains()
        if not self._filling:
            self._fill()

    def stop_beginning(self) -> None:
        """See `Paced`."""
        self._ends = True
        self.last_index = self.next_index
        self.chain_until = 0
        if not self._filling:
            self._finish_if_over()

    # What connections report

    def ended(self, connection: Connection) -> None:
        """Its request has ended. If it is still open, it takes the next, now or later."""
        if connection.state == State.CLOSED:
            del self._pool.live[connection.fd]
        elif not self._is_closed or self._schedule.think_ns:
            self._pool.spare.append(connection)
        elif self._in_flight <= self._most and self._has_row():
            index = self.next_index
            self.next_index = index + 1
            connection.begin(index)
            return
        else:
            connection.close()
            del self._pool.live[connection.fd]
        self._in_flight -= 1
        if not self._is_closed:
            self._finish_if_over()
            return
        if self._agenda is not None:
            if self._schedule.think_ns and self._busy_users < self._most and not self._has_begun_all:
                self._agenda.think(perf_counter_ns())
            if self._in_flight <= self._most and not self.chain_until:
                self._allow_chains()
        if not self._filling:
            self._fill()

    def idle_lost(self, connection: Connection) -> None:
        """The server closes a connection between two requests."""
        self._pool.lost(connection)

    def preconnected(self, connection: Connection, failed: Outcome | None) -> None:
        """A connection without a request is established, or could not be."""
        self._pool.preconnected(connection, failed)

    # Readiness and time

    def _drain(self) -> None:
        """Handles what is ready, for a bounded time."""
        poll, connections = self.poller.poll, self._pool.live
        turn_ends = perf_counter_ns() + _TURN_NS
        try:
            while ready := poll(0, _BATCH):
                for fd, events in ready:
                    connections[fd].handle(events)
                if perf_counter_ns() > turn_ends:
                    return
        except BaseException as error:  # a defect of ours: end the run with it, where the loop would only log it
            if not self._finished.done():
                self._finished.set_exception(error)

    def _drain_on_time(self) -> None:
        """The same where requests begin at moments of their own: none must wait for a batch of answers.

        When many are due, answers and requests take turns: if either waited for all of the other, late answers would
        keep connections from the requests, which then open new ones, and are later still.
        """
        agenda, poll, connections = self._agenda, self.poller.poll, self._pool.live
        assert agenda is not None
        turn_ends = perf_counter_ns() + _TURN_NS
        try:
            while ready := poll(0, _BATCH_ON_TIME):
                for fd, events in ready:
                    if fd in connections:
                        connections[fd].handle(events)
                    if perf_counter_ns() >= agenda.next_ns:
                        agenda.catch_up(_WHEN_ANSWERED if fd != agenda.fd else _WHEN_DUE)
                if perf_counter_ns() > turn_ends:
                    return
        except BaseException as error:
            if not self._finished.done():
                self._finished.set_exception(error)


def _has_moments(schedule: Schedule) -> bool:
    """Whether anything but the end of a request lets another begin."""
    return bool(schedule.arrivals or schedule.changes or schedule.think_ns)
