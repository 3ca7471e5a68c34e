"""The server: accepts, gives each request its moment, and answers when that has come."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from dataclasses import asdict, replace
from enum import IntEnum
from heapq import heappop, heappush

from servers.calibrated.acceptor import Acceptor
from servers.calibrated.alarm import make_alarm
from servers.calibrated.connection import Connection
from servers.calibrated.endpoints import Targets, Task, answer
from servers.calibrated.precedence import ordinary_scheduling
from servers.calibrated.reader import Request
from servers.calibrated.response import render
from servers.calibrated.settings import NS_PER_MS, Settings, concurrency_limit
from servers.calibrated.stats import Counters
from servers.calibrated.timetable import NEVER_NS, Slots, Standstills, Unlimited
from servers.errors import RequestError
from servers.metrics import exposition
from servers.stats import Gauge
from servers.work import JSON, POOL_SIZE, Endpoint, Reply, Wait, advance, document, refusal


class _Counted(IntEnum):
    """What an answer counts as."""

    NOT = 0  # not a request of the limit
    SERVED = 1
    STALLED = 2  # served, and held up by a standstill: many leave at one moment, so it says nothing about exactness


_Answer = tuple[int, int, Connection, bytes, _Counted, int]


class Server:
    """Listens from its construction on, on a running loop.

    Args:
        settings: What to keep to.
        loop: The running loop.
        gauge: Where it shows what it works on.
        realtime: Whether this thread has real-time scheduling, which is not for requests that spin.

    Raises:
        OSError: The address cannot be resolved or listened on.
    """

    def __init__(
        self, settings: Settings, loop: asyncio.AbstractEventLoop, gauge: Gauge, *, realtime: bool = False
    ) -> None:
        self._settings = settings
        self._loop = loop
        self._gauge = gauge
        self._realtime = realtime
        self._targets = Targets(settings)
        self._jitter_ns = round(settings.jitter_ms * NS_PER_MS)
        self._slots = Slots(settings.limit) if settings.limit else Unlimited()
        self._pool = Slots(POOL_SIZE)
        self._acceptor = Acceptor(settings, loop, self._take)
        self._connections: set[Connection] = set()
        self._answers: list[_Answer] = []  # a heap by due time, then by order of reading
        self._sequence = 0
        self._answered: list[Connection] = []
        self._pending = 0  # requests of the limit not answered yet, worked on or waiting
        self._held_until_ns = 0
        self._reset()
        self._standstills = Standstills(settings.stall_every_ms, settings.stall_for_ms, time.monotonic_ns())
        self._stall_ns = self._standstills.next_ns(time.monotonic_ns())
        self._next_ns = self._stall_ns[0]
        self._alarm = make_alarm(loop, self._ring)
        self._alarm.set(self._next_ns)

    @property
    def url(self) -> str:
        """The URL listened on, with the real port."""
        return self._acceptor.url

    def close(self) -> None:
        """Stops at once: what is being worked on is dropped."""
        self._acceptor.close()
        self._alarm.close()
        for connection in tuple(self._connections):
            connection.close()

    # Connections

    def _take(self, sock: socket.socket, room_since_ns: int) -> None:
        connection = Connection(sock, self, self._loop, room_since_ns)
        self._connections.add(connection)
        self._counters.accepted += 1
        self._counters.peak_open = max(self._counters.peak_open, len(self._connections))
        # Most clients' requests are here already: reading at once spares the loop a turn.
        connection.readable()

    def closed(self, connection: Connection) -> None:
        """Forgets a connection."""
        self._connections.discard(connection)
        self._acceptor.release()

    def read_after(self, delay_ns: int) -> None:
        """Counts by how much a request was read after the kernel had received it."""
        self._counters.pickup.add(delay_ns)

    # Requests

    def begin(self, connection: Connection, request: Request) -> None:
        """Gives a request its moment, and its answer."""
        try:
            self._begin(connection, request)
        except RequestError as error:
            self._at_once(connection, request, refusal(error))

    def _begin(self, connection: Connection, request: Request) -> None:
        if request.refusal:
            raise RequestError(400, request.refusal)
        task = self._targets.read(request.target, request.method)
        if isinstance(task.begins, Wait):
            self._work(connection, request, task, pooled=task.begins.pooled)
        elif task.metrics:
            counted = replace(self._gauge.read(), limit=self._limit)
            self._at_once(connection, request, Reply(*exposition(counted, self._waiting)))
        elif task.endpoint is None:
            self._at_once(connection, request, Reply(document(self.stats()), JSON))
            if task.value:
                self._reset()
        elif task.begins:
            self._gauge.finish()
            self._at_once(connection, request, task.begins)
        else:
            self._at_once(connection, request, self._hold(task.endpoint, task.value))

    def _work(self, connection: Connection, request: Request, task: Task, *, pooled: bool) -> None:
        # Nothing was read while the loop stood still, and nothing of this connection before it was accepted.
        arrival_ns = max(request.arrival_ns, self._held_until_ns, connection.earliest_ns)
        free_ns = self._slots.begin_ns(arrival_ns)
        if self._settings.shed and free_ns > arrival_ns:
            self._counters.shed += 1
            raise RequestError(503, f"over the limit of {self._settings.limit}")
        length_ns = self._jittered_ns(task.length_ns)
        begin_ns, acquired_ns, done_ns, end_ns = self._place(free_ns, length_ns, pooled=pooled)
        head = request.method == b"HEAD"
        payload = answer(task, acquired_ns - begin_ns, end_ns - acquired_ns, request.connection, head)
        self._slots.take(end_ns)
        self._pending += 1
        self._show()
        self._counters.peak_waiting = max(self._counters.peak_waiting, self._waiting)
        counted = _Counted.SERVED if end_ns == done_ns else _Counted.STALLED
        self._push(end_ns, connection, payload, counted, request.arrival_ns)

    def _jittered_ns(self, length_ns: int) -> int:
        if not self._jitter_ns:
            return length_ns
        return max(0, length_ns + round(self._random.uniform(-self._jitter_ns, self._jitter_ns)))

    def _place(self, free_ns: int, length_ns: int, *, pooled: bool) -> tuple[int, int, int, int]:
        """Returns when the work begins, has its place in the pool, is done, and can be answered."""
        begin_ns = acquired_ns = self._standstills.defer_ns(free_ns)
        if pooled:
            acquired_ns = self._standstills.defer_ns(self._pool.begin_ns(begin_ns))
        done_ns = acquired_ns + length_ns
        end_ns = self._standstills.defer_ns(done_ns)
        if pooled:
            self._pool.take(end_ns)
        return begin_ns, acquired_ns, done_ns, end_ns

    def _at_once(self, connection: Connection, request: Request, reply: Reply) -> None:
        payload = render(reply, connection=request.connection, head=request.method == b"HEAD")
        self._push(time.monotonic_ns(), connection, payload, _Counted.NOT, request.arrival_ns)

    def _hold(self, endpoint: Endpoint, value: int) -> Reply:
        self.catch_up()
        with self._gauge, ordinary_scheduling(self._realtime):
            reply = advance(endpoint.work(value))
        assert isinstance(reply, Reply), "what spins does not wait"
        self._held_until_ns = time.monotonic_ns()
        return reply

    # Time

    def catch_up(self) -> None:
        """Writes the answers that are due, and stands still if it is time for that."""
        now_ns = time.monotonic_ns()
        if self._next_ns <= now_ns:
            self._turn(now_ns)

    def _ring(self) -> None:
        self._turn(time.monotonic_ns())
        self._alarm.set(self._next_ns)

    def _push(self, due_ns: int, connection: Connection, payload: bytes, counted: _Counted, arrival_ns: int) -> None:
        self._sequence += 1
        heappush(self._answers, (due_ns, self._sequence, connection, payload, counted, arrival_ns))
        # The alarm may ring too early, after `catch_up` has done its work; it must never ring too late.
        if due_ns < self._next_ns:
            self._next_ns = due_ns
            self._alarm.set(due_ns)

    def _turn(self, now_ns: int) -> None:
        answers = self._answers
        while True:
            due_ns = answers[0][0] if answers else NEVER_NS
            self._next_ns = min(due_ns, self._stall_ns[0])
            if self._next_ns > now_ns:
                break
            now_ns = self._answer(heappop(answers)) if due_ns < self._stall_ns[0] else self._stand_still(now_ns)

    def _answer(self, answer: _Answer) -> int:
        due_ns, _, connection, payload, counted, arrival_ns = answer
        if counted:
            # Before it is sent: who has all the answers must find nothing in flight.
            self._pending -= 1
            self._show()
            self._gauge.finish()
        written = connection.send(payload)
        now_ns = time.monotonic_ns()
        if counted:
            if not written:
                self._counters.gone += 1
            else:
                self._counters.response.add(now_ns - arrival_ns)
            if written and counted is _Counted.SERVED:
                self._counters.error.add(now_ns - max(due_ns, self._held_until_ns))
        # What follows an answer can wait until everything that is due has gone out.
        connection.earliest_ns = due_ns
        if not self._answered:
            self._loop.call_soon(self._go_on)
        self._answered.append(connection)
        return now_ns

    def _go_on(self) -> None:
        answered, self._answered = self._answered, []
        for connection in answered:
            connection.answered()
            self.catch_up()

    def _stand_still(self, now_ns: int) -> int:
        _, end_ns = self._stall_ns
        if now_ns < end_ns:
            time.sleep((end_ns - now_ns) / 1e9)
            began_ns, now_ns = now_ns, time.monotonic_ns()
            self._held_until_ns = max(end_ns, self._held_until_ns)
            self._counters.stalls += 1
            self._counters.stalled_ns += now_ns - began_ns
        self._stall_ns = self._standstills.next_ns(max(now_ns, end_ns))
        return now_ns

    # Figures

    def _show(self) -> None:
        self._gauge.show(self._in_flight)
        self._gauge.show_waiting(self._waiting)

    @property
    def _in_flight(self) -> int:
        return min(self._pending, self._settings.limit or self._pending)

    @property
    def _limit(self) -> int | None:
        return concurrency_limit(self._settings.limit, self._settings.connections)

    @property
    def _waiting(self) -> int:
        return self._pending - self._in_flight

    def _reset(self) -> None:
        """Begins the counts and the jitter anew; the peaks begin at what there is now."""
        self._gauge.reset()
        self._counters = Counters(peak_waiting=self._waiting, peak_open=len(self._connections))
        self._random = random.Random(self._settings.seed)

    def stats(self) -> dict[str, object]:
        """Returns what the server did since its start or the last reset, ready for JSON; times in milliseconds."""
        counters = self._counters
        return {
            "server": "calibrated",
            **asdict(self._gauge.read()),
            "limit": self._limit,
            "waiting": self._waiting,
            "peak_waiting": counters.peak_waiting,
            "shed": counters.shed,
            "gone": counters.gone,
            "connections": {
                "limit": self._settings.connections,
                "open": len(self._connections),
                "peak": counters.peak_open,
                "accepted": counters.accepted,
            },
            "accept_queue": self._acceptor.queue(),
            "stalls": {"count": counters.stalls, "total_ms": counters.stalled_ns / NS_PER_MS},
            "arrival": "kernel" if self._acceptor.stamped else "read",
            "realtime": self._realtime,
            "error": counters.error.report(),
            "pickup": counters.pickup.report(),
            "response": counters.response.report(),
        }
