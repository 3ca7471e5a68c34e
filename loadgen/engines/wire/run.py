"""One run of the wire engine: releases requests, dispatches readiness, bounds their time."""

from __future__ import annotations

import asyncio
import socket
from time import perf_counter_ns
from typing import Final

from loadgen.engines import Job
from loadgen.engines.wire.connection import Connection, State
from loadgen.engines.wire.poller import make_poller
from loadgen.engines.wire.response import Memo, ResponseReader, TimingReader
from loadgen.engines.wire.tls_connection import TlsConnection
from loadgen.kernel import HAS_TCP_INFO
from loadgen.outcome import Outcome
from loadgen.request import encode_request
from loadgen.samples import MISSING
from loadgen.tls import tls_context

_READ_SIZE: Final = 65536
_BATCH: Final = 512
_TURN_NS: Final = 5_000_000
"""For so long the engine goes on with what is ready before it lets the loop do anything else."""
_RELEASE_TURN_NS: Final = 1_000_000
"""For so long a burst is released without a look at what has been answered already."""
_ONE_SEGMENT: Final = 1200
_RESENT_ALONE_NS: Final = 190_000_000
"""A segment that is alone on its way is not sent again sooner: the least retransmission time-out is 200 ms, and a tail
loss probe then waits as long besides (tcp_schedule_loss_probe in net/ipv4/tcp_output.c). A SYN waits 1 s."""
_RESENT_NS: Final = 2_000_000
"""Of several segments, a probe for the last waits two ticks of the kernel or more."""
_SWEEP_MIN_S: Final = 0.005


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
    """The state of one run. Connections read its public attributes and report to `ended` and `preconnected`."""

    def __init__(self, job: Job) -> None:
        target, workload = job.plan.target, job.plan.workload
        self.recorder = job.recorder
        self.sockaddr = job.address.sockaddr
        self.request = encode_request(job.plan)
        self.head_only = target.method == "HEAD"
        self.reader_kind = TimingReader if job.plan.server_timing else ResponseReader
        self.reuse = workload.reuses_connections
        self.tls = tls_context(target, alpn=("http/1.1",))
        self.server_hostname = target.host
        self._kind = Connection if self.tls is None else TlsConnection
        self.none_resent = 0 if HAS_TCP_INFO else MISSING
        self.request_size = len(self.request)
        self.resend_visible_ns = _RESENT_ALONE_NS if self.request_size <= _ONE_SEGMENT else _RESENT_NS
        """Requests that were quicker are not asked how often their connection sent again."""
        self.next_index = 0
        """The row of the next request to begin; none is left at `last_index`."""
        self.last_index = job.schedule.requests
        self.memo = Memo()
        self.buffer = bytearray(_READ_SIZE)
        """What is read goes here first, whatever the connection."""
        self.poller = make_poller()
        self._family = job.address.family
        self._schedule = job.schedule
        self._preconnects = workload.preconnect
        self._timeout_s = workload.timeout_s
        self._connect_timeout_s = workload.connect_timeout_s or workload.timeout_s
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._connections: dict[int, Connection] = {}
        """By descriptor; those that carry a request, or wait for the release."""
        self._spare: list[Connection] = []
        self._refused_early: list[Outcome] = []
        self._in_flight = 0
        self._connecting = 0
        self._filling = False
        self._sweep: asyncio.TimerHandle | None = None

    # The course of a run

    async def carry_out(self) -> None:
        """Releases the first requests, then waits until the last has ended."""
        self._loop.add_reader(self.poller.fileno(), self._drain)
        if self._preconnects:
            await self._preconnect()
        else:
            self._spare = self._make_connections(self._schedule.in_flight)
        self._release()
        if not self._finished.done():
            self._sweep = self._loop.call_later(min(self._timeout_s, self._connect_timeout_s), self._expire)
        await self._finished

    def close(self) -> None:
        """Closes every socket that is still open."""
        self.next_index = self.last_index  # nothing begins any more
        if self._sweep is not None:
            self._sweep.cancel()
        self._loop.remove_reader(self.poller.fileno())
        for connection in [*self._connections.values(), *self._spare]:
            connection.close()
        self.poller.close()

    def _make_connections(self, count: int) -> list[Connection]:
        """Unconnected sockets, made before the release so that it has less to do; fewer where descriptors run out."""
        connections: list[Connection] = []
        try:
            while len(connections) < count:
                connections.append(self._new_connection())
        except OSError:
            pass
        connections.reverse()  # taken from the end
        return connections

    def _new_connection(self) -> Connection:
        sock = socket.socket(self._family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._kind(self, sock)

    async def _preconnect(self) -> None:
        """Connects as many as will be released; those that cannot be are kept as outcomes for as many requests."""
        ready = self._finished
        fresh = self._make_connections(self._schedule.in_flight)
        self._refused_early = [Outcome.CLIENT] * (self._schedule.in_flight - len(fresh))
        self._connecting = len(fresh)
        while fresh:
            connection = fresh.pop()
            self._connections[connection.fd] = connection
            connection.connect()
        if self._connecting:
            await asyncio.wait([ready], timeout=min(self._timeout_s, self._connect_timeout_s))
        self._finished = self._loop.create_future()
        self._spare = [c for c in self._connections.values() if c.state in (State.IDLE, State.LOST)]
        for connection in [c for c in self._connections.values() if c.state in (State.CONNECTING, State.HANDSHAKE)]:
            connection.close()
            del self._connections[connection.fd]
            self._refused_early.append(Outcome.CONNECT_TIMEOUT)

    def _release(self) -> None:
        """Begins the first requests, as close together as they can be."""
        self._filling = True
        turn_ends = self.recorder.release() + _RELEASE_TURN_NS
        for outcome in self._refused_early:
            self._row_without_connection(outcome)
        while self.next_index < self._schedule.in_flight:
            self._begin_next()
            if perf_counter_ns() > turn_ends:
                # A quick server has answered some by now, and their times must not wait for the end of the release.
                self._drain()
                turn_ends = perf_counter_ns() + _RELEASE_TURN_NS
        self._fill()

    def _fill(self) -> None:
        """Begins requests while fewer are in flight than may be; ends the run when none is left."""
        self._filling = True
        turn_ends = perf_counter_ns() + _TURN_NS
        while self._in_flight < self._schedule.in_flight and self.next_index < self.last_index:
            self._begin_next()
            if perf_counter_ns() > turn_ends:  # each one failed at once: let the loop see to other things between
                self._loop.call_soon(self._fill)
                break
        self._filling = False
        if self._in_flight == 0 and self.next_index >= self.last_index and not self._finished.done():
            self._finished.set_result(None)

    def _begin_next(self) -> None:
        """Begins the next request, on a connection that waits for one or a new one."""
        try:
            connection = self._spare.pop() if self._spare else self._new_connection()
        except OSError:
            self._row_without_connection(Outcome.CLIENT)
            return
        index = self.next_index
        self.next_index = index + 1
        self._in_flight += 1
        self._connections[connection.fd] = connection
        connection.begin(index)
        if connection.state == State.CONNECTING:
            connection.connect()

    def _row_without_connection(self, outcome: Outcome) -> None:
        index = self.next_index
        self.next_index = index + 1
        recorder = self.recorder
        recorder.due[index] = recorder.begun[index] = recorder.done[index] = perf_counter_ns()
        recorder.outcome[index] = outcome

    # What connections report

    def ended(self, connection: Connection) -> None:
        """Its request has ended. If it is still open, it takes the next."""
        index = self.next_index
        if connection.state == State.IDLE:
            if index < self.last_index:
                self.next_index = index + 1
                connection.begin(index)
                return
            connection.close()
        del self._connections[connection.fd]
        self._in_flight -= 1
        if not self._filling:  # else the loop that is beginning requests goes on by itself
            self._fill()

    def preconnected(self, connection: Connection, failed: Outcome | None) -> None:
        """A connection without a request is established, or could not be."""
        if failed is not None:
            self._refused_early.append(failed)
            del self._connections[connection.fd]
        self._connecting -= 1
        if self._connecting == 0 and not self._finished.done():
            self._finished.set_result(None)

    # Readiness and time

    def _drain(self) -> None:
        """Handles what is ready, for a bounded time."""
        poll, connections = self.poller.poll, self._connections
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

    def _expire(self) -> None:
        """Ends the requests whose time is up, and comes again when the next one's can be.

        One sweep over what is in flight, instead of a timer a request: all have the same limits.
        """
        timeout_ns = round(self._timeout_s * 1e9)
        connect_ns = round(min(self._timeout_s, self._connect_timeout_s) * 1e9)
        now = perf_counter_ns()
        next_ns = now + connect_ns
        for connection in [c for c in self._connections.values() if c.index >= 0]:  # the others wait for the release
            limit_ns = connect_ns if connection.state == State.CONNECTING else timeout_ns
            deadline_ns = connection.begun_ns + limit_ns
            if deadline_ns <= now:
                connection.expire()
            else:
                next_ns = min(next_ns, deadline_ns)
        if not self._finished.done():
            self._sweep = self._loop.call_later(max((next_ns - perf_counter_ns()) / 1e9, _SWEEP_MIN_S), self._expire)
