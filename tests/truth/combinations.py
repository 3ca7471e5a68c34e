"""Real servers, what is fired at them, and what must be found: each with the reason why that is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.truth.cases import one_of

Group = frozenset[str]

PATIENT_S: Final = 20.0

LIMIT: Final = (one_of("concurrency-limit"),)
SERIAL: Final = (one_of("serial"),)
OVERLAPPED: Final = (one_of("overlapped"),)
CONNECTIONS: Final = (one_of("connection-limit"),)
SHED: Final = (one_of("shed"),)
CPU: Final = (one_of("cpu-shared"),)
STALL: Final = one_of("stall")
DROPPED: Final = one_of("accept-queue")
TIMEOUT: Final = one_of("timeout")


@dataclass(frozen=True, slots=True)
class Combination:
    """A server, a workload, and the truth about them."""

    spec: str
    path: str
    requests: int
    must: tuple[Group, ...]
    why: str
    limit: int | None = None
    service_ms: float | None = None
    users: int | None = None
    """Requests in flight; None for a burst."""
    keepalive: bool = True
    timeout_s: float = PATIENT_S
    within: float = 0.02
    may: Group = frozenset()
    short: bool = False
    """Whether it is part of `make test`."""
    lone: bool = False
    """Whether a request is sent alone before the runs."""

    @property
    def label(self) -> str:
        """What must be found."""
        return " + ".join(sorted("|".join(sorted(group)) for group in self.must))

    @property
    def fired(self) -> str:
        """The workload in a few words."""
        users = "" if self.users is None else f" -c {self.users}{'' if self.keepalive else ', no keep-alive'}"
        return f"{self.path} --n {self.requests}{users}"


def _calibrated(knobs: str, requests: int, must: tuple[Group, ...], why: str, **more: object) -> Combination:
    return Combination(f"calibrated:{knobs}", "/sleep", requests, must, why, **more)  # type: ignore[arg-type]


_PLACES = "it keeps exactly this limit; the others wait in it"
_NONE = "no limit was set"
_THREADS = "a thread works on one request at a time, and sleeps"
_FEWER = "there are more threads than requests"
_ROOM = "it accepts no more than these; the others stay in the kernel's queue"
_LOOP = "the one event loop spins for each, and nothing else runs meanwhile"
_WAITS = "every wait is a timer of the loop's; it takes up any number"
_TOKENS = "Starlette runs plain handlers on as many threads as AnyIO's limiter has tokens"
_WORKER = "a sync worker accepts a connection when it is done with the one before"

COMBINATIONS: Final[tuple[Combination, ...]] = (
    _calibrated("limit=1,service_ms=50", 20, SERIAL, _PLACES, limit=1, service_ms=50, short=True),
    _calibrated("limit=1,service_ms=20,backlog=128", 60, SERIAL, _PLACES, limit=1, service_ms=20),
    _calibrated("limit=2,service_ms=100", 20, LIMIT, _PLACES, limit=2, service_ms=100),
    _calibrated("limit=5,service_ms=100,backlog=64", 47, LIMIT, _PLACES, limit=5, service_ms=100),
    _calibrated("limit=10,service_ms=20,backlog=256", 200, LIMIT, _PLACES, limit=10, service_ms=20),
    _calibrated("limit=20,service_ms=200", 100, LIMIT, _PLACES, limit=20, service_ms=200),
    _calibrated("limit=50,service_ms=200,backlog=512", 400, LIMIT, _PLACES, limit=50, service_ms=200, short=True),
    _calibrated("limit=100,service_ms=300", 250, LIMIT, _PLACES, limit=100, service_ms=300),
    _calibrated("limit=200,service_ms=1000", 400, LIMIT, _PLACES, limit=200, service_ms=1000),
    _calibrated("limit=500,service_ms=1000", 1200, LIMIT, _PLACES, limit=500, service_ms=1000),
    _calibrated("limit=500,service_ms=1000", 2000, LIMIT, _PLACES, limit=500, service_ms=1000),
    _calibrated("limit=40,service_ms=100,jitter_ms=20", 200, LIMIT, _PLACES, limit=40, service_ms=100),
    _calibrated(
        "limit=40,service_ms=100,jitter_ms=50",
        300,
        LIMIT,
        f"{_PLACES}; no waves show, and it takes a burst in its own order: the limit is asked within 60 %",
        limit=40,
        within=0.6,
    ),
    _calibrated("limit=15,service_ms=150", 31, LIMIT, f"{_PLACES}; the last wave is of one", limit=15, service_ms=150),
    _calibrated("service_ms=100", 20, OVERLAPPED, _NONE, service_ms=100, short=True),
    _calibrated("service_ms=500", 500, OVERLAPPED, _NONE, service_ms=500),
    _calibrated("service_ms=1000", 2000, OVERLAPPED, _NONE, service_ms=1000),
    _calibrated("service_ms=300,jitter_ms=250", 300, OVERLAPPED, f"{_NONE}; times differ from 50 to 550 ms"),
    _calibrated("connections=20,service_ms=100", 100, CONNECTIONS, _ROOM, limit=20, service_ms=100, short=True),
    _calibrated("connections=100,service_ms=300", 350, CONNECTIONS, _ROOM, limit=100, service_ms=300),
    _calibrated(
        "connections=60,limit=20,service_ms=200", 100, LIMIT, "the places are fewer than the connections", limit=20
    ),
    _calibrated(
        "connections=50,service_ms=50",
        800,
        CONNECTIONS,
        "50 of 80 kept connections are accepted and served again and again",
        users=80,
        limit=50,
        short=True,
    ),
    _calibrated(
        # A shorter queue would never hold as many as the server takes, where it is slower to accept than they come.
        "connections=20,backlog=25,service_ms=600",
        80,
        (*CONNECTIONS, DROPPED),
        "20 are accepted and 26 fit the queue at the release; 34 SYNs are dropped",
        limit=20,
    ),
    _calibrated(
        "connections=30,backlog=50,service_ms=1100",
        120,
        (*CONNECTIONS, DROPPED),
        "30 are accepted and 51 fit the queue at the release; 39 SYNs are dropped",
        limit=30,
        short=True,
    ),
    _calibrated("limit=50,shed=true,service_ms=300", 200, SHED, "the 51st is answered 503", limit=50, short=True),
    _calibrated("limit=5,shed=true,service_ms=200", 100, SHED, "the 6th is answered 503", limit=5),
    _calibrated(
        "service_ms=50,jitter_ms=20,stall=1000/300",
        2000,
        (*OVERLAPPED, STALL),
        "it stands still for 300 ms every second, and the run takes three",
        users=40,
        short=True,
    ),
    _calibrated(
        "limit=20,service_ms=50,jitter_ms=4,stall=1000/250",
        1000,
        (one_of("concurrency-limit", "overlapped"), STALL),
        "it stands still for 250 ms every second; in the first turn, which would show the limit, one time in five",
        users=40,
    ),
    _calibrated("limit=10,service_ms=50", 400, LIMIT, _PLACES, users=40, limit=10, service_ms=50),
    _calibrated("limit=10,service_ms=50", 400, LIMIT, _PLACES, users=40, keepalive=False, limit=10, service_ms=50),
    _calibrated("service_ms=100", 1000, OVERLAPPED, _NONE, users=100, service_ms=100),
    _calibrated("service_ms=100", 600, OVERLAPPED, _NONE, users=60, keepalive=False, service_ms=100),
    _calibrated("service_ms=2000", 50, (TIMEOUT,), "all take 2 s, and are given up after 0.5 s", timeout_s=0.5),
    _calibrated(
        "limit=20,service_ms=300",
        100,
        (*LIMIT, TIMEOUT),
        "three waves end within 1.05 s, two do not",
        timeout_s=1.05,
        limit=20,
    ),
    Combination("threads:threads=4", "/sleep?ms=100", 20, LIMIT, _THREADS, limit=4, service_ms=100),
    Combination("threads:threads=20", "/sleep?ms=200", 100, LIMIT, _THREADS, limit=20, service_ms=200, short=True),
    Combination("threads:threads=100,backlog=4096", "/sleep?ms=500", 250, LIMIT, _THREADS, limit=100, service_ms=500),
    Combination("threads:threads=200", "/sleep?ms=1000", 400, LIMIT, _THREADS, limit=200, service_ms=1000),
    Combination("threads:threads=1", "/sleep?ms=50", 20, SERIAL, _THREADS, limit=1, service_ms=50),
    Combination("threads:threads=250", "/sleep?ms=1000", 150, OVERLAPPED, _FEWER, service_ms=1000),
    Combination("threads:threads=50,connections=20", "/sleep?ms=300", 100, CONNECTIONS, _ROOM, limit=20, within=0.1),
    Combination("threads:threads=10", "/sleep?ms=100", 200, LIMIT, _THREADS, limit=10, users=30, service_ms=100),
    Combination("threads:threads=10", "/sleep?ms=100", 150, LIMIT, _THREADS, limit=10, users=30, keepalive=False),
    Combination("threads:threads=20", "/block?ms=600", 10, CPU, "ten threads spin and watch the same clock", lone=True),
    Combination(
        "threads:threads=20", "/cpu?steps=400000", 10, CPU, "ten threads share one interpreter lock", lone=True
    ),
    Combination("gthread:threads=4", "/sleep?ms=100", 20, LIMIT, _THREADS, limit=4, service_ms=100),
    Combination("gthread:threads=50", "/sleep?ms=300", 150, LIMIT, _THREADS, limit=50, service_ms=300, short=True),
    Combination("gthread:threads=200", "/sleep?ms=1000", 400, LIMIT, _THREADS, limit=200, service_ms=1000),
    Combination("gthread:threads=1", "/sleep?ms=50", 20, SERIAL, _THREADS, limit=1, service_ms=50),
    Combination("gthread:threads=150", "/sleep?ms=500", 100, OVERLAPPED, _FEWER, service_ms=500),
    Combination("gthread:threads=10", "/sleep?ms=100", 150, LIMIT, _THREADS, limit=10, users=30, keepalive=False),
    Combination("greenlets", "/sleep?ms=300", 100, OVERLAPPED, _WAITS, service_ms=300),
    Combination("greenlets:backlog=4096", "/sleep?ms=1000", 500, OVERLAPPED, _WAITS, service_ms=1000),
    Combination("greenlets", "/sleep?ms=200", 400, OVERLAPPED, _WAITS, users=50, service_ms=200),
    Combination("greenlets", "/block?ms=50", 20, SERIAL, _LOOP, limit=1, service_ms=50),
    Combination(
        "greenlets:backlog=50",
        "/sleep?ms=500",
        400,
        (*OVERLAPPED, DROPPED),
        "a queue of 50 overflows before the loop has accepted 400",
        service_ms=500,
    ),
    Combination("processes:workers=2", "/sleep?ms=100", 20, CONNECTIONS, _WORKER, limit=2, service_ms=100, short=True),
    Combination("processes:workers=4", "/sleep?ms=200", 40, CONNECTIONS, _WORKER, limit=4, service_ms=200),
    Combination("processes:workers=1", "/sleep?ms=60", 20, SERIAL, _WORKER, limit=1, service_ms=60),
    Combination("async", "/sleep?ms=300", 100, OVERLAPPED, _WAITS, service_ms=300, short=True),
    Combination("async:backlog=4096", "/sleep?ms=1000", 400, OVERLAPPED, _WAITS, service_ms=1000),
    Combination("async", "/sleep?ms=200", 400, OVERLAPPED, _WAITS, users=50, service_ms=200),
    Combination("async", "/sleep?ms=300", 200, OVERLAPPED, _WAITS, users=40, keepalive=False, service_ms=300),
    Combination(
        "async:limit_concurrency=50", "/sleep?ms=500", 200, SHED, "the 50th open connection is answered 503", limit=49
    ),
    Combination("async", "/block?ms=50", 20, SERIAL, _LOOP, limit=1, service_ms=50, short=True),
    Combination("async", "/cpu?steps=400000", 20, SERIAL, _LOOP, limit=1),
    Combination("async-threadpool", "/sleep?ms=300", 200, LIMIT, _TOKENS, limit=40, service_ms=300, short=True),
    Combination("async-threadpool:tokens=10", "/sleep?ms=100", 100, LIMIT, _TOKENS, limit=10, service_ms=100),
    Combination("async-threadpool:tokens=100", "/sleep?ms=500", 250, LIMIT, _TOKENS, limit=100, service_ms=500),
    Combination("async-threadpool:tokens=150", "/sleep?ms=500", 100, OVERLAPPED, _FEWER, service_ms=500),
    Combination("async-threadpool:tokens=10", "/sleep?ms=100", 150, LIMIT, _TOKENS, limit=10, users=30),
)
