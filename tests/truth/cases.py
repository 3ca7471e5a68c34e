"""What a simulated run is, and what must be found in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from loadgen.explain import Evidence
from tests.truth.model import NEVER, Floats, Setup, Stall, Trace, simulate
from tests.truth.observe import Observer, observed

T = TypeVar("T")

WAITED_PART: Final = 0.25
_FEW_WAITING: Final = 3
_FEW_AT_ONCE: Final = 10
CAUSES_OF_LIMIT: Final = ("serial", "concurrency-limit", "connection-limit")


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be found: of each group one cause. `may` can be found beside them; anything else is wrong."""

    must: tuple[frozenset[str], ...]
    may: frozenset[str] = frozenset()
    limit: int | None = None
    within: float = 0.02
    service_s: float | None = None
    counts: dict[str, int] = field(default_factory=dict)
    """For these causes the number of requests is known exactly."""
    doubt: str = ""
    """Words that one of the sentences must hold: two reasons fit what was seen."""
    stalls: tuple[Stall, ...] = ()
    few: bool = False
    """`overlapped`, if it is named, must be named with the doubt that these are too few to tell."""
    blind: bool = False
    """A limit, if one is named, must be named with the doubt that resends were not to be seen."""

    @property
    def label(self) -> str:
        """What must be found, as the confusion matrix names it."""
        return " + ".join(sorted("|".join(sorted(group)) for group in self.must))


@dataclass(frozen=True, slots=True)
class Case:
    """A run, and the truth about it."""

    kind: str
    seed: int
    evidence: Evidence
    expected: Expected
    note: str = ""


class Draw:
    """Random choices from one seed."""

    def __init__(self, seed: int, most_requests: int) -> None:
        self.seed = seed
        self.most = most_requests
        self.rng = np.random.default_rng(seed)

    def real(self, low: float, high: float) -> float:
        """Uniform."""
        return float(self.rng.uniform(low, high))

    def spread(self, low: float, high: float) -> float:
        """Uniform in the logarithm."""
        return float(np.exp(self.rng.uniform(math.log(low), math.log(high))))

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, uniform in the logarithm."""
        return min(high, max(low, int(self.spread(low, high + 1))))

    def chance(self, probability: float) -> bool:
        """True so often."""
        return bool(self.rng.random() < probability)

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[int(self.rng.integers(len(options)))]

    def observer(self) -> Observer:
        """Local half of the time."""
        return self.pick(("local", "local", "remote", "blind"))

    def jittered(self, service_s: float, jitter: float, count: int) -> Floats:
        """Service times up to `jitter` (a part) away from the mean: uniform, or a normal cut off there."""
        if self.chance(0.5):
            return service_s * (1 + self.rng.uniform(-jitter, jitter, count))
        return service_s * (1 + np.clip(self.rng.normal(0, jitter / 2, count), -jitter, jitter))

    def noise_s(self, service_s: float) -> float:
        """0.1 to 1 ms, as far as that is small beside the service time."""
        return min(self.spread(1e-4, 1e-3), 0.02 * service_s)


def one_of(*causes: str) -> frozenset[str]:
    """A group of which one must be found."""
    return frozenset(causes)


def waited_rows(trace: Trace) -> NDArray[np.bool_]:
    """Which of the served waited for a place, for a good part of a service time; shape (requests,)."""
    served = trace.column("status") == 200
    reached, started, ends = (trace.column(name)[served] for name in ("reached", "started", "undelayed"))
    waited = np.zeros(len(served), dtype=bool)
    if served.any():
        waited[served] = started - reached > WAITED_PART * float(np.median(ends - started))
    return waited


def release_is_slow(trace: Trace, evidence: Evidence) -> bool | None:
    """Whether the release takes more than a tenth of the fastest response; None where that is a near thing."""
    if not trace.setup.is_burst or not evidence.samples.ok.any():
        return False
    begun = trace.column("begun")
    part = float(begun.max()) * 1e9 / float(evidence.samples.response_ns[evidence.samples.ok].min())
    return None if 0.08 < part < 0.12 else part > 0.1


def served_shape(trace: Trace, observer: Observer, limit: int | None, *, in_queue: bool = False) -> Expected:
    """How the served shared the server, by what truly happened: a limit where some waited for a place, else none."""
    waited = int(np.count_nonzero(waited_rows(trace)[: trace.setup.concurrency]))
    if not waited or limit is None:
        return Expected((one_of("overlapped"),))
    if waited < _FEW_WAITING:
        # One late request, or two, may as well be stragglers.
        either = one_of("overlapped", "serial", "concurrency-limit", "connection-limit")
        return Expected((either,), may=one_of("unexplained"))
    if trace.setup.concurrency < _FEW_AT_ONCE:
        few = one_of("overlapped", "serial" if limit == 1 else "concurrency-limit", *(["connection-limit"] * in_queue))
        return Expected((few,), few=True)
    # Who waits in the accept queue and who in the server cannot be told apart from afar.
    cause = "serial" if limit == 1 else "concurrency-limit"
    doubt = ""
    if in_queue and observer == "local":
        cause = "connection-limit"
    elif observer != "local" and limit > 1:
        doubt = "or it accepts no more than"
    return Expected((one_of(cause),), limit=limit, doubt=doubt)


def case(
    kind: str, draw: Draw, setup: Setup, observer: Observer, *, limit: int | None = None, in_queue: bool = False
) -> tuple[Case, Trace]:
    """A simulated run with the shape, dropped SYNs, refusals and time-outs that truly were in it."""
    trace = simulate(setup, draw.rng)
    evidence = observed(trace, observer)
    expected = served_shape(trace, observer, limit, in_queue=in_queue)
    served = trace.column("status") == 200
    if served.any():
        work = trace.column("undelayed")[served] - trace.column("started")[served]
        expected = replace(expected, service_s=float(np.median(work)))
    expected = _with_events(expected, trace, observer)
    slow = release_is_slow(trace, evidence)
    if slow:
        expected = replace(expected, must=(*expected.must, one_of("client")))
    elif slow is None:
        expected = replace(expected, may=expected.may | {"client"})
    return Case(kind, draw.seed, evidence, expected), trace


def _with_events(expected: Expected, trace: Trace, observer: Observer) -> Expected:
    must, may, counts = list(expected.must), set(expected.may), dict(expected.counts)
    resent, connected, begun = trace.column("resent"), trace.column("connected"), trace.column("begun")
    seen = resent > 0 if observer != "blind" else (connected < NEVER) & (connected - begun > 0.95)
    if seen.any():
        must.append(one_of("accept-queue"))
        counts["accept-queue"] = int(seen.sum())
    elif (resent > 0).any():
        may.add("accept-queue")
    if observer == "blind" and any(request.data_tries for request in trace.requests):
        # Nothing that a blind observer has tells these from requests that waited for a place.
        shapes = frozenset({"overlapped", "serial", "concurrency-limit", "cpu-shared"})
        must = [group for group in must if not group & shapes]
        may |= shapes | {"unexplained", "stall"}
        expected = replace(expected, limit=None, doubt="", blind=True)
    status = trace.column("status")
    timed_out = np.array([request.timed_out for request in trace.requests])
    refused = np.isin(status, (0, 429, 503)) & ~timed_out
    if refused.any():
        must.append(one_of("shed"))
        counts["shed"] = int(refused.sum())
        # What was turned away is no evidence that the others met no limit.
        must = [group for group in must if group != one_of("overlapped")]
    if timed_out.any():
        must.append(one_of("timeout"))
        counts["timeout"] = int(timed_out.sum())
    if not ((status == 200) & ~timed_out).any():
        must = [group for group in must if group != one_of("overlapped")]
    return replace(expected, must=tuple(must), may=frozenset(may), counts=counts)
