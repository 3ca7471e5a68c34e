"""How long it takes to explain a run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import Final

from loadgen.explain import Evidence, explain
from tests.truth.cases import Draw
from tests.truth.model import Setup
from tests.truth.observe import observed
from tests.truth.sharing import arranged

BOUNDS_MS: Final = {10_000: 100.0, 1_000_000: 3_000.0}


@dataclass(frozen=True, slots=True)
class Timing:
    """One kind of run, and the median time that it took to explain."""

    requests: int
    kind: str
    took_ms: float

    @property
    def bound_ms(self) -> float:
        """What it may take."""
        return BOUNDS_MS[self.requests]


def evidence_of(requests: int, kind: str) -> Evidence:
    """A run of that many requests: a burst or 500 users, blurred or in waves, overlapped or limited."""
    draw = Draw(7, requests)
    jitter = 0.5 if "blurred" in kind else 0.1
    limit = None if "overlapped" in kind else requests // 40 if "burst" in kind else 200
    service = 0.2 * (1 + draw.rng.uniform(-jitter, jitter, requests))
    concurrency = requests if "burst" in kind else 500
    setup = Setup(requests, concurrency, service, limit=limit, release_s=1e-6)
    return observed(arranged(setup, draw.rng), "local")


KINDS: Final = ("burst in waves", "burst, blurred", "burst, overlapped", "users in waves", "users, overlapped")


def timings(requests: int, repeats: int = 3) -> list[Timing]:
    """Each kind of run explained."""
    found = []
    for kind in KINDS:
        evidence = evidence_of(requests, kind)
        took = []
        for _ in range(repeats):
            begin = time.perf_counter()
            explain(evidence)
            took.append(1e3 * (time.perf_counter() - begin))
        found.append(Timing(requests, kind, median(took)))
    return found
