"""The server: accepts, gives each request its moment, and answers when that has come."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
import time
from enum import IntEnum
from functools import lru_cache
from heapq import heappop, heappush

from servers.calibrated.acceptor import Acceptor
from servers.calibrated.alarm import make_alarm
from servers.calibrated.connection import Connection, Request
from servers.calibrated.endpoints import Kind, Task, block, cpu, read_target
from servers.calibrated.precedence import ordinary_scheduling
from servers.calibrated.response import JSON, TEXT, render
from servers.calibrated.settings import NS_PER_MS, Settings
from servers.calibrated.stats import Counters
from servers.calibrated.timetable import NEVER_NS, Slots, Standstills, Unlimited

POOL = 20


class _Counted(IntEnum):
    """What an answer counts as."""

    NOT = 0  # not a request of the limit
    SERVED = 1
    STALLED = 2  # served, and held up by a standstill: many leave at one moment, so it says nothing about exactness


_Answer = tuple[int, int, Connection, bytes, _Counted]


class Server:
    """Listens from its construction on, on a running loop.

    Args:
        settings: What to keep to.
        loop: The running loop.
        realtime: Whether this thread has real-time scheduling, which is not for requests that spin.

    Raises:
        OSError: The address cannot be resolved or listened on.
    """

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop, *, realtime: bool = False) -> None:
        self._settings = settings
        self._loop = loop
        self._realtime = realtime
        self._service_ns = round(settings.service_ms * NS_PER_MS)
        self._jitter_ns = round(settings.jitter_ms * NS_PER_MS)
        self._slots = Slots(settings.limit) if settings.limit else Unlimited()
        self._pool = Slots(POOL)
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
        if request.refusal:
            self._at_once(connection, request, 400, f"{request.refusal}\n".encode())
            return
        task = read_target(request.target)
        match task.kind:
            case Kind.SERVICE | Kind.DOWNSTREAM:
                self._work(connection, request, task)
            case Kind.BLOCK | Kind.CPU:
                self._at_once(connection, request, 200, self._hold(task))
            case Kind.THREAD:
                self._at_once(connection, request, 200, f"{threading.current_thread().name}\n".encode())
            case Kind.JSON:
                self._at_once(connection, request, 200, b'{"message": "hello"}\n', JSON)
            case Kind.STATS:
                self._at_once(connection, request, 200, f"{json.dumps(self.stats())}\n".encode(), JSON)
                if task.reset:
                    self._reset()
            case Kind.BAD:
                self._at_once(connection, request, 400, f"{task.message}\n".encode())

    def _work(self, connection: Connection, request: Request, task: Task) -> None:
        # Nothing was read while the loop stood still, and nothing of this connection before it was accepted.
        arrival_ns = max(request.arrival_ns, self._held_until_ns, connection.earliest_ns)
        free_ns = self._slots.begin_ns(arrival_ns)
        if self._settings.shed and free_ns > arrival_ns:
            self._counters.shed += 1
            self._at_once(connection, request, 503, b"over the limit of %d\n" % self._settings.limit)
            return
        begin_ns = self._standstills.defer_ns(free_ns)
        length_ns = self._service_ns if task.length_ns is None else task.length_ns
        if self._jitter_ns:
            length_ns = max(0, length_ns + round(self._random.uniform(-self._jitter_ns, self._jitter_ns)))
        if task.kind is Kind.SERVICE:
            done_ns = begin_ns + length_ns
            end_ns = self._standstills.defer_ns(done_ns)
            payload = _ok(request.connection, request.head)
        else:
            acquired_ns = self._standstills.defer_ns(self._pool.begin_ns(begin_ns))
            done_ns = acquired_ns + length_ns
            end_ns = self._standstills.defer_ns(done_ns)
            self._pool.take(end_ns)
            payload = _downstream(request, acquired_ns - begin_ns, end_ns - acquired_ns)
        self._slots.take(end_ns)
        self._pending += 1
        counters = self._counters
        counters.peak = max(counters.peak, self._in_flight)
        counters.peak_waiting = max(counters.peak_waiting, self._pending - self._in_flight)
        self._push(end_ns, connection, payload, _Counted.SERVED if end_ns == done_ns else _Counted.STALLED)

    def _at_once(
        self, connection: Connection, request: Request, status: int, body: bytes, content_type: bytes = TEXT
    ) -> None:
        payload = render(status, body, content_type=content_type, connection=request.connection, head=request.head)
        self._push(time.monotonic_ns(), connection, payload, _Counted.NOT)

    def _hold(self, task: Task) -> bytes:
        self.catch_up()
        body = b"ok\n"
        with ordinary_scheduling(self._realtime):
            if task.kind is Kind.BLOCK:
                block(task.length_ns or 0)
            else:
                body = b"%d\n" % cpu(task.steps)
        self._held_until_ns = time.monotonic_ns()
        return body

    # Time

    def catch_up(self) -> None:
        """Writes the answers that are due, and stands still if it is time for that."""
        now_ns = time.monotonic_ns()
        if self._next_ns <= now_ns:
            self._turn(now_ns)

    def _ring(self) -> None:
        self._turn(time.monotonic_ns())
        self._alarm.set(self._next_ns)

    def _push(self, due_ns: int, connection: Connection, payload: bytes, counted: _Counted) -> None:
        self._sequence += 1
        heappush(self._answers, (due_ns, self._sequence, connection, payload, counted))
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
        due_ns, _, connection, payload, counted = answer
        written = connection.send(payload)
        now_ns = time.monotonic_ns()
        if counted:
            self._pending -= 1
            if not written:
                self._counters.gone += 1
            else:
                self._counters.served += 1
                if counted is _Counted.SERVED:
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

    @property
    def _in_flight(self) -> int:
        return min(self._pending, self._settings.limit or self._pending)

    def _reset(self) -> None:
        """Begins the counts and the jitter anew; the peaks begin at what there is now."""
        self._counters = Counters(
            peak=self._in_flight, peak_waiting=self._pending - self._in_flight, peak_open=len(self._connections)
        )
        self._random = random.Random(self._settings.seed)

    def stats(self) -> dict[str, object]:
        """Returns what the server did since its start or the last reset, ready for JSON; times in milliseconds."""
        counters = self._counters
        return {
            "server": "calibrated",
            "limit": self._settings.limit,
            "in_flight": self._in_flight,
            "waiting": self._pending - self._in_flight,
            "peak": counters.peak,
            "peak_waiting": counters.peak_waiting,
            "served": counters.served,
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
        }


@lru_cache(maxsize=16)
def _ok(connection: bytes, head: bool) -> bytes:
    return render(200, b"ok\n", connection=connection, head=head)


def _downstream(request: Request, acquire_ns: int, work_ns: int) -> bytes:
    timing = f"Server-Timing: acquire;dur={acquire_ns / NS_PER_MS:.3f}, work;dur={work_ns / NS_PER_MS:.3f}\r\n"
    return render(200, b"ok\n", extra=timing.encode(), connection=request.connection, head=request.head)
