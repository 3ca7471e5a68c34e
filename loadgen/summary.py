"""Samples -> Summary: the figures of one run. Small, pure, and the only place where a percentile is taken."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints, Samples

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


def in_ms(ns: float) -> float:
    """Milliseconds to the microsecond: what all forms of output are made from, so that they agree with each other."""
    return round(ns / NS_PER_MS, 3)


def percentile(ordered: Ints, q: float) -> int:
    """The value at index min(n - 1, floor(q n)) of n sorted values, counted from 0; q from 0 to 1.

    A value that occurred, never one between two. `ordered` must be sorted and not empty.
    """
    return int(ordered[min(len(ordered) - 1, int(q * len(ordered)))])


@dataclass(frozen=True, slots=True)
class Times:
    """Response times of the ok requests of a run, in ns."""

    min_ns: int
    p50_ns: int
    p90_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int
    mean_ns: float

    @classmethod
    def of(cls, response_ns: Ints) -> Times:
        """The figures of these response times, which must not be none."""
        ordered = np.sort(response_ns)
        p50, p90, p95, p99 = (percentile(ordered, q) for q in (0.50, 0.90, 0.95, 0.99))
        return cls(int(ordered[0]), p50, p90, p95, p99, int(ordered[-1]), float(ordered.mean()))


@dataclass(frozen=True, slots=True)
class Lateness:
    """By how much requests began after they were due, in ns: time that they waited in the generator."""

    p50_ns: int
    p99_ns: int
    max_ns: int

    @classmethod
    def of(cls, samples: Samples) -> Lateness | None:
        """That of the requests that were begun; None where none was."""
        begun = samples.begun != MISSING
        if not begun.any():
            return None
        late = np.sort((samples.begun - samples.due)[begun])
        return cls(percentile(late, 0.50), percentile(late, 0.99), int(late[-1]))


@dataclass(frozen=True, slots=True)
class TargetSummary:
    """The figures of the requests to one of several targets. Invariant: requests == ok + sum of failures."""

    requests: int
    ok: int
    failures: dict[Outcome, int]
    times: Times | None
    """None where no request was ok, or, of a long run's very many targets, they were not timed."""

    @classmethod
    def of(cls, samples: Samples, number: int) -> TargetSummary:
        """That of the target with this number."""
        rows = samples.target == number
        ok = rows & samples.ok
        times = Times.of(samples.response_ns[ok]) if ok.any() else None
        return cls(int(rows.sum()), int(ok.sum()), failures_of(_outcomes(samples.outcome[rows])), times)

    @property
    def failed(self) -> int:
        """How many requests were not ok."""
        return self.requests - self.ok


@dataclass(frozen=True, slots=True)
class Durations:
    """One of the server's own figures over the ok requests that have it, in ns."""

    p50_ns: int
    p99_ns: int
    max_ns: int
    count: int

    @classmethod
    def of(cls, duration_ns: Ints) -> Durations:
        """The figures of these durations, which must not be none."""
        ordered = np.sort(duration_ns)
        return cls(percentile(ordered, 0.50), percentile(ordered, 0.99), int(ordered[-1]), len(ordered))


@dataclass(frozen=True, slots=True)
class Second:
    """The requests of a run that ended within one second of it. Times in ns, of the ok ones; None where none was."""

    number: int
    """From 0: the second from `number` to `number` + 1 s after the release."""
    ok: int
    failed: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None

    def beside(self, other: Second) -> Second:
        """The same second of two parts of a run; of a percentile the higher, which is no less than that of both."""

        def higher(name: str) -> int | None:
            known = [value for part in (self, other) if (value := getattr(part, name)) is not None]
            return max(known, default=None)

        p50_ns, p99_ns, max_ns = (higher(name) for name in ("p50_ns", "p99_ns", "max_ns"))
        return Second(self.number, self.ok + other.ok, self.failed + other.failed, p50_ns, p99_ns, max_ns)


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one run. Invariant: requests == ok + failed == ok + sum of failures."""

    requests: int
    concurrency: int
    """Requests released together, and users who then send again; in an open workload, the most that were in flight."""
    ok: int
    failures: dict[Outcome, int]
    """Failed requests by class; classes without any are left out."""
    statuses: dict[int, int]
    """Complete responses by status code, failed ones among them."""
    wall_ns: int | None
    """Release to the last completion; None where nothing was begun."""
    times: Times | None
    """None where no request was ok."""
    over_ms: int
    over: int
    """Late requests, failed ones among them."""
    release_ns: int | None
    """First to last of the requests released together."""
    resent: int | None
    """Requests whose connection retransmitted; None where that cannot be seen."""
    bytes_in: int
    is_burst: bool = True
    """Whether all requests were released at once."""
    service: Times | None = None
    """Open workloads: done - begun of the ok requests; `times` are from due."""
    lateness: Lateness | None = None
    """Open workloads: begun - due of those that were begun."""
    server_timing: dict[str, Durations] = field(default_factory=dict)
    """The server's own figures by metric."""
    with_server_timing: int = 0
    """ok requests that have any of these."""
    is_exact: bool = True
    """Whether percentiles are of the values themselves. Else they are from a histogram, within 0.1 %."""
    seconds: tuple[Second, ...] = ()
    """Of a run that lasts for a given time: each second in which a request ended."""
    targets: tuple[TargetSummary, ...] = ()
    """Of each target where there are several, in the order of their numbers; else none."""

    @property
    def failed(self) -> int:
        """How many requests were not ok."""
        return self.requests - self.ok

    @property
    def throughput_rps(self) -> float | None:
        """ok requests a second of wall."""
        return self.ok / self.wall_ns * NS_PER_S if self.wall_ns else None


def summarize(samples: Samples, *, concurrency: int, over_ms: int, is_open: bool = False, targets: int = 0) -> Summary:
    """The figures of a run of which `concurrency` requests were released together; of an open one, none were.

    `targets`: how many there are, where there are several.
    """
    ok = samples.ok
    response_ns = samples.response_ns
    done = samples.done[samples.done != MISSING]
    released = samples.begun[: 0 if is_open else concurrency]
    released = released[released != MISSING]
    seen = samples.resent != MISSING
    timing = {name: ok & (column != MISSING) for name, column in samples.server_timing.items()}
    return Summary(
        requests=len(samples),
        concurrency=_most_in_flight(samples) if is_open else concurrency,
        ok=int(ok.sum()),
        failures=failures_of(_outcomes(samples.outcome)),
        statuses=_counts(samples.status),
        wall_ns=int(done.max()) if len(done) else None,
        times=Times.of(response_ns[ok]) if ok.any() else None,
        over_ms=over_ms,
        over=int((response_ns > over_ms * NS_PER_MS).sum()),
        release_ns=int(released.max() - released.min()) if len(released) else None,
        resent=int((samples.resent[seen] > 0).sum()) if seen.any() else None,
        bytes_in=int(samples.bytes_in.sum()),
        is_burst=not is_open and concurrency >= len(samples),
        service=Times.of((samples.done - samples.begun)[ok]) if is_open and ok.any() else None,
        lateness=Lateness.of(samples) if is_open else None,
        server_timing={
            name: Durations.of(samples.server_timing[name][rows]) for name, rows in timing.items() if rows.any()
        },
        with_server_timing=int(np.any([*timing.values()], axis=0).sum()),
        targets=tuple(TargetSummary.of(samples, number) for number in range(1, targets + 1)),
    )


def most_at_once(begin_ns: Ints, end_ns: Ints) -> int:
    """How many of the intervals [begin, end) overlap at most; shapes (n,). At the same moment an end comes first."""
    begins, ends = np.sort(begin_ns), np.sort(end_ns)
    open_after_begin = np.arange(1, len(begins) + 1) - np.searchsorted(ends, begins, side="right")
    return int(open_after_begin.max(initial=0))


def failures_of(counts: Ints) -> dict[Outcome, int]:
    """The classes of failures that occurred, from how many requests had each outcome; shape (outcomes,)."""
    return {outcome: int(counts[outcome]) for outcome in Outcome if outcome != Outcome.OK and counts[outcome]}


def _outcomes(outcomes: NDArray[np.int8]) -> Ints:
    counts: Ints = np.bincount(outcomes, minlength=len(Outcome))
    return counts


def _counts(statuses: NDArray[np.int16]) -> dict[int, int]:
    found, counts = np.unique(statuses[statuses != MISSING], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _most_in_flight(samples: Samples) -> int:
    known = (samples.begun != MISSING) & (samples.done != MISSING)
    return most_at_once(samples.begun[known], samples.done[known])
