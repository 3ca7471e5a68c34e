"""One run of the wire engine: what lets requests begin, and when it is over."""

from __future__ import annotations

import asyncio
import socket
from time import perf_counter_ns
from typing import Final

from loadgen.engines import Job
from loadgen.engines.wire.agenda import Agenda
from loadgen.engines.wire.connection import Connection, State
from loadgen.engines.wire.deadlines import Deadlines
from loadgen.engines.wire.owner import Owner
from loadgen.engines.wire.pool import Pool
from loadgen.engines.wire.readiness import Readiness
from loadgen.engines.wire.tls_connection import TlsConnection
from loadgen.outcome import Outcome
from loadgen.schedule import Schedule

_BEGIN_TURN_NS: Final = 1_000_000
"""For so long requests are begun without a look at what has been answered already."""


class WireEngine:
    """Requests on sockets of its own, released together."""

    async def run(self, job: Job) -> None:
        """See `loadgen.engines.Engine.run`."""
        run = WireRun(job)
        try:
            await run.carry_out()
        finally:
            run.close()


class WireRun(Owner):
    """The state of one run. The agenda tells it what is due, its connections what has ended."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        workload = job.plan.workload
        self._kind = Connection if self.tls is None else TlsConnection
        self._is_counted = job.schedule.requests is not None
        self.last_index = job.recorder.rows if job.schedule.requests is None else job.schedule.requests
        """No row is left to begin at this one."""
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
        self._readiness = Readiness(self.poller, self._pool.live, self._agenda, self._finished)
        self._deadlines = Deadlines(self._pool.live, self.recorder, workload)
        self._refused_early: list[Outcome] = []
        self._in_flight = 0
        self._filling = False
        """Requests are being begun, by a loop that goes on by itself."""

    # The course of a run

    async def carry_out(self) -> None:
        """Releases the first requests, then waits until the last has ended."""
        drain = self._readiness.drain if self._agenda is None else self._readiness.drain_on_time
        self._loop.add_reader(self.poller.fileno(), drain)
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
                self._readiness.drain()
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
        """See `Owner`."""
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
        """See `Owner`."""
        self._pool.lost(connection)

    def preconnected(self, connection: Connection, failed: Outcome | None) -> None:
        """See `Owner`."""
        self._pool.preconnected(connection, failed)


def _has_moments(schedule: Schedule) -> bool:
    """Whether anything but the end of a request lets another begin."""
    return bool(schedule.arrivals or schedule.changes or schedule.think_ns)
