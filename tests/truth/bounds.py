"""How long it takes to explain a run."""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from loadgen.explain import Evidence, ServerView, explain
from loadgen.samples import MISSING, Ints, Samples

BOUNDS_MS: Final = {10_000: 100.0, 1_000_000: 3_000.0}


@dataclass(frozen=True, slots=True)
class Timing:
    """One kind of run, and the least time that it took to explain: the rest is what others on the machine took."""

    requests: int
    kind: str
    took_ms: float

    @property
    def bound_ms(self) -> float:
        """What it may take."""
        return BOUNDS_MS[self.requests]


def evidence_of(requests: int, kind: str) -> Evidence:
    """A run of that many requests: a burst or 500 users, blurred or in waves, overlapped or limited.

    Without events and network, for the number's sake: places alone, each user on a connection kept open.
    """
    rng = np.random.default_rng(7)
    jitter = 0.5 if "blurred" in kind else 0.1
    users = requests if "burst" in kind else 500
    limit = users if "overlapped" in kind else requests // 40 if "burst" in kind else 200
    service_ns = (2e8 * (1 + rng.uniform(-jitter, jitter, requests))).astype(np.int64).tolist()
    free, ready = [0] * limit, [1_000 * user for user in range(users)]
    begun, done = [], []
    for length_ns in service_ns:
        at = heapq.heappop(ready)
        end = max(at, free[0]) + length_ns
        heapq.heapreplace(free, end)
        heapq.heappush(ready, end + 10_000)
        begun.append(at)
        done.append(end)
    return _evidence(np.array(begun), np.array(done), users)


def _evidence(begun: Ints, done: Ints, users: int) -> Evidence:
    n = len(begun)
    first = np.arange(n) < users
    samples = Samples(
        due=begun,
        begun=begun,
        connected=np.where(first, begun, MISSING),
        first_byte=done,
        done=done,
        bytes_in=np.full(n, 160),
        status=np.full(n, 200, dtype=np.int16),
        outcome=np.zeros(n, dtype=np.int8),
        reused=(~first).astype(np.int8),
        resent=np.zeros(n, dtype=np.int16),
        target=np.zeros(n, dtype=np.int16),
    )
    looks = tuple((25_000_000 * look, 0) for look in range(1, 40))
    return Evidence(samples, users, server=ServerView(queue=looks, cpu_s=1.0))


KINDS: Final = ("burst in waves", "burst, blurred", "burst, overlapped", "users in waves", "users, overlapped")


def timings(requests: int, repeats: int = 5, kinds: Sequence[str] = KINDS) -> list[Timing]:
    """Each kind of run explained."""
    found = []
    for kind in kinds:
        evidence = evidence_of(requests, kind)
        took = []
        for _ in range(repeats):
            begin = time.perf_counter()
            explain(evidence)
            took.append(1e3 * (time.perf_counter() - begin))
        found.append(Timing(requests, kind, min(took)))
    return found
