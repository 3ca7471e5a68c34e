"""A server, its network and its clients, as a small discrete-event simulation. Times in seconds from the release.

Not derived from loadgen.explain, on purpose: it has the kernel's queue, its timers and a server with places, and knows
nothing of how those are read off afterwards.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEVER: Final = float("inf")
_DATA_RTO_S: Final = 0.2  # TCP_RTO_MIN
_LOOK_S: Final = 0.025
_LOOKS_PER_PACE: Final = 200
_LOOK_MOST_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Stall:
    """The server stands still from `begin_s` to `end_s`.

    `frozen`: all work is put off by its length. Otherwise the work goes on elsewhere, and only the answers that fall
    due in it leave at its end.
    """

    begin_s: float
    end_s: float
    frozen: bool

    def put_off(self, start_s: float, end_s: float) -> float:
        """When work that would have lasted from start to end is done."""
        if not self.frozen:
            return self.end_s if self.begin_s <= end_s < self.end_s else end_s
        if start_s < self.end_s and end_s > self.begin_s:
            return end_s + self.end_s - max(self.begin_s, start_s)
        return end_s


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """What is simulated."""

    requests: int
    concurrency: int
    service_s: Floats
    """Shape (requests,): time at work of the first to begin, the second, and so on."""
    limit: int | None = None
    room: int | None = None
    """Requests that may wait for a place in the server; the next is turned away. None: all may wait."""
    refusal: int = 503
    """Status of one turned away; 0 for a reset."""
    connections: int | None = None
    backlog: int = 4096
    keepalive: bool = False
    accept_s: float = 20e-6
    accepts_until_s: float = NEVER
    release_s: float = 25e-6
    way_s: float = 8e-6
    """From client to server, or back."""
    noise_s: float = 0.0
    """Of the client's reading of an answer's end: exponential, with this mean."""
    linear_timeouts: int = 4
    timeout_s: float = NEVER
    lost: frozenset[int] = frozenset()
    """Which, of those that begin work, are never answered."""
    stalls: tuple[Stall, ...] = ()
    arrivals_s: Floats | None = None
    """Shape (requests,): when each comes, whatever the answers do; `concurrency` is of no account then."""

    @property
    def is_burst(self) -> bool:
        """Whether all are released at once."""
        return self.concurrency >= self.requests


@dataclass(slots=True)
class Request:
    """One request, as it truly went. NEVER: not reached."""

    row: int
    user: int
    begun: float
    connected: float = NEVER
    reached: float = NEVER
    """The server's kernel had the connection for accepting (or, kept alive, the request)."""
    started: float = NEVER
    due: float = NEVER
    """The answer left, stalls included."""
    undelayed: float = NEVER
    """The answer would have left without stalls."""
    done: float = NEVER
    status: int = -1
    syns: int = 0
    data_tries: int = 0
    resent: int = 0
    reused: bool = False
    timed_out: bool = False


@dataclass(slots=True)
class Trace:
    """What truly happened."""

    setup: Setup
    requests: list[Request]
    overflows: int
    looks: list[tuple[float, int]]
    """(moment, connections in the accept queue), at the pace at which ServerWatch looks."""
    most_at_work: int

    def column(self, name: str) -> Floats:
        """One field of all requests; shape (requests,)."""
        return np.array([getattr(request, name) for request in self.requests], dtype=np.float64)


def simulate(setup: Setup, rng: np.random.Generator) -> Trace:
    """What happens in a setup."""
    return _World(setup, rng).run()


def resend_moments(linear_timeouts: int, count: int = 12) -> list[float]:
    """When an unanswered SYN is sent again, after the first."""
    waits = [1.0] * linear_timeouts + [2.0**power for power in range(count)]
    return [float(moment) for moment in np.cumsum(waits)[:count]]


@dataclass(slots=True)
class _World:
    setup: Setup
    rng: np.random.Generator
    now: float = 0.0
    overflows: int = 0
    most_at_work: int = 0
    requests: list[Request] = field(default_factory=list)
    _events: list[tuple[float, int, Callable[[Request], None], Request]] = field(default_factory=list)
    _ticket: count[int] = field(default_factory=count)
    _queue: deque[Request] = field(default_factory=deque)
    _waiting: deque[Request] = field(default_factory=deque)
    _looks: list[tuple[float, int]] = field(default_factory=list)
    _noise: list[float] = field(default_factory=list)
    _moments: list[float] = field(default_factory=list)
    _open: int = 0
    _at_work: int = 0
    _began: int = 0
    _unfinished: int = 0
    _accepting: bool = False

    def run(self) -> Trace:
        setup = self.setup
        self._noise = self.rng.exponential(max(setup.noise_s, 1e-9), setup.requests).tolist()
        self._moments = resend_moments(setup.linear_timeouts)
        if setup.arrivals_s is not None:
            for user, at in enumerate(setup.arrivals_s.tolist()):
                self._begin(user, at, reused=False)
            return self._play()
        at = 0.0
        for user, skew in enumerate(self.rng.uniform(0.6, 1.4, setup.concurrency).tolist()):
            self._begin(user, at, reused=False)
            at += skew * setup.release_s
        return self._play()

    def _play(self) -> Trace:
        look_s = next_look = _LOOK_S
        while self._events:
            self.now, _, act, request = heapq.heappop(self._events)
            while self.now > next_look and self._unfinished:
                self._looks.append((next_look, len(self._queue)))
                if len(self._looks) % _LOOKS_PER_PACE == 0:
                    look_s = min(2 * look_s, _LOOK_MOST_S)
                next_look += look_s
            act(request)
        return Trace(self.setup, self.requests, self.overflows, self._looks, self.most_at_work)

    def _at(self, moment: float, act: Callable[[Request], None], request: Request) -> None:
        heapq.heappush(self._events, (moment, next(self._ticket), act, request))

    # The client

    def _begin(self, user: int, at: float, *, reused: bool) -> None:
        request = Request(len(self.requests), user, at, reused=reused)
        self.requests.append(request)
        self._unfinished += 1
        if self.setup.timeout_s < NEVER:
            self._at(at + self.setup.timeout_s, self._give_up, request)
        self._at(at + self.setup.way_s, self._arrive if reused else self._syn, request)

    def _give_up(self, request: Request) -> None:
        if request.done == NEVER:
            request.timed_out = True
            request.done = self.now
            self._next(request, keeps=False)

    def _read(self, request: Request) -> None:
        if not request.timed_out:
            request.done = self.now
            self._next(request, keeps=self.setup.keepalive and request.status != 0)

    def _next(self, request: Request, *, keeps: bool) -> None:
        self._unfinished -= 1
        if len(self.requests) < self.setup.requests:
            self._begin(request.user, self.now, reused=keeps)
        elif keeps:
            self._close(request)

    # The network

    def _syn(self, request: Request) -> None:
        if request.timed_out:
            return
        if len(self._queue) > self.setup.backlog:
            self.overflows += 1
            self._at(request.begun + self._moments[request.syns] + self.setup.way_s, self._syn, request)
            request.syns += 1
            self._at(request.begun + self._moments[request.syns - 1], self._count_resend, request)
            return
        request.connected = self.now + self.setup.way_s
        self._at(self.now + 2 * self.setup.way_s, self._ack, request)

    def _count_resend(self, request: Request) -> None:
        if not request.timed_out:
            request.resent += 1

    def _ack(self, request: Request) -> None:
        if request.timed_out:
            return
        if len(self._queue) > self.setup.backlog:
            self.overflows += 1
            rto_s = _DATA_RTO_S + 2 * self.setup.way_s
            request.data_tries += 1
            moment = request.connected + (2**request.data_tries - 1) * rto_s
            self._at(moment, self._count_resend, request)
            self._at(moment + self.setup.way_s, self._ack, request)
            return
        request.reached = self.now
        self._queue.append(request)
        self._accept_next()

    # The server

    def _accept_next(self) -> None:
        setup = self.setup
        if self._accepting or not self._queue or self.now > setup.accepts_until_s:
            return
        if setup.connections is not None and self._open >= setup.connections:
            return
        self._accepting = True
        self._at(self._awake(self.now) + setup.accept_s, self._accepted, self._queue[0])

    def _accepted(self, request: Request) -> None:
        self._accepting = False
        self._queue.popleft()
        self._open += 1
        self._arrive(request)
        self._accept_next()

    def _awake(self, moment: float) -> float:
        for stall in self.setup.stalls:
            if stall.frozen and stall.begin_s <= moment < stall.end_s:
                moment = stall.end_s
        return moment

    def _arrive(self, request: Request) -> None:
        setup = self.setup
        if request.reused:
            request.reached = self.now
        if setup.limit is None or self._at_work < setup.limit:
            self._work(request)
        elif setup.room is not None and len(self._waiting) >= setup.room:
            self._answer(request, setup.refusal, self.now + 50e-6)
        else:
            self._waiting.append(request)

    def _work(self, request: Request) -> None:
        self._at_work += 1
        self.most_at_work = max(self.most_at_work, self._at_work)
        request.started = self.now
        number = self._began
        self._began += 1
        if number in self.setup.lost:
            return
        request.undelayed = end = self.now + float(self.setup.service_s[number])
        for stall in self.setup.stalls:
            end = stall.put_off(request.started, end)
        self._at(end, self._finish, request)

    def _finish(self, request: Request) -> None:
        self._at_work -= 1
        if self._waiting:
            self._work(self._waiting.popleft())
        self._answer(request, 200, self.now)

    def _answer(self, request: Request, status: int, leaves: float) -> None:
        request.status = status
        request.due = leaves
        if not self.setup.keepalive or status == 0 or request.timed_out:
            self._close(request)
        self._at(leaves + self.setup.way_s + self._noise[request.row], self._read, request)

    def _close(self, _: Request) -> None:
        self._open -= 1
        self._accept_next()
