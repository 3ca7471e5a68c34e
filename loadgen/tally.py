"""Tally: what is known of requests that are not kept one by one. Its size does not depend on their number.

Counts, sums, least and most are exact; percentiles come from histograms. Tallies of the parts of a run can be merged.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loadgen.histogram import Histogram
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints, Samples
from loadgen.summary import NS_PER_MS, NS_PER_S, Second, Summary, most_at_once
from loadgen.target_tally import TargetTally


class Tally:
    """Counts rows, in any order, a few thousand at a time."""

    def __init__(self, *, over_ms: int, is_open: bool, targets: int = 0) -> None:
        """For a run in which a request is late above `over_ms`; lateness is counted where `is_open`.

        `targets`: how many there are, where there are several.
        """
        self.over_ms = over_ms
        self.is_open = is_open
        self.requests = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.statuses: Counter[int] = Counter()
        self.capped = 0
        """Requests that were due at the cap of what may be in flight, and were not sent."""
        self.over = 0
        self.bytes_in = 0
        self.resent: int | None = None
        """Requests whose connection retransmitted; None where that was never to be seen."""
        self.last_done_ns: int | None = None
        self.most_in_flight = 0
        self.response = Histogram()
        """Of the ok requests."""
        self.service = Histogram()
        """Of the ok requests; open workloads only."""
        self.late = Histogram()
        """begun - due; open workloads only."""
        self.targets = TargetTally(targets)
        self.seconds: list[Second] = []
        """Those that have been settled, in order."""
        self._unsettled: dict[int, _OpenSecond] = {}

    def add(self, samples: Samples) -> None:
        """Counts these rows; each must have ended, or never been begun."""
        ok = samples.ok
        begun = samples.begun != MISSING
        response_ns = samples.response_ns
        self.requests += len(samples)
        self.outcomes.update({Outcome(number): count for number, count in _counts(samples.outcome)})
        self.statuses.update({status: count for status, count in _counts(samples.status) if status != MISSING})
        refused = samples.outcome == Outcome.CLIENT
        self.capped += int(np.count_nonzero(refused & ~begun & (samples.due != MISSING)))
        self.over += int(np.count_nonzero(response_ns > self.over_ms * NS_PER_MS))
        self.bytes_in += int(samples.bytes_in.sum())
        seen = samples.resent != MISSING
        if seen.any():
            self.resent = (self.resent or 0) + int(np.count_nonzero(samples.resent[seen] > 0))
        self.response.add(response_ns[ok])
        if self.is_open:
            self.service.add((samples.done - samples.begun)[ok])
            self.late.add((samples.begun - samples.due)[begun])
        self.targets.add(samples)
        self._add_to_seconds(samples.done, ok, response_ns)

    def _add_to_seconds(self, done: Ints, ok: NDArray[np.bool_], response_ns: Ints) -> None:
        ended = done != MISSING
        if not ended.any():
            return
        self.last_done_ns = max(self.last_done_ns or 0, int(done.max()))
        number = np.where(ended, done // NS_PER_S, MISSING)
        for second in np.unique(number[ended]).tolist():
            rows = number == second
            unsettled = self._unsettled.setdefault(second, _OpenSecond())
            unsettled.ended += int(np.count_nonzero(rows))
            unsettled.response.add(response_ns[rows & ok])

    def count_in_flight(self, begun: Ints, done: Ints) -> None:
        """Notes how many of these were in flight at once; shapes (n,). All of a stretch of time must be among them."""
        self.most_in_flight = max(self.most_in_flight, most_at_once(begun, done))

    def settle(self, before_ns: int | None = None) -> None:
        """Closes the seconds that ended before this moment (None: all): nothing of theirs will come any more."""
        for second in sorted(self._unsettled):
            if before_ns is None or (second + 1) * NS_PER_S <= before_ns:
                self.seconds.append(self._unsettled.pop(second).settled(second))

    def merge(self, other: Tally) -> None:
        """Counts what another generator has counted of its part of the same run; both must be settled.

        The most in flight is an upper bound then, and so is a second's percentile: those of the parts need not have
        come at once.
        """
        self.requests += other.requests
        self.outcomes += other.outcomes
        self.statuses += other.statuses
        self.capped += other.capped
        self.over += other.over
        self.bytes_in += other.bytes_in
        if other.resent is not None:
            self.resent = (self.resent or 0) + other.resent
        if other.last_done_ns is not None:
            self.last_done_ns = max(self.last_done_ns or 0, other.last_done_ns)
        self.most_in_flight += other.most_in_flight
        self.response.merge(other.response)
        self.service.merge(other.service)
        self.late.merge(other.late)
        self.targets.merge(other.targets)
        both = {second.number: second for second in self.seconds}
        for second in other.seconds:
            here = both.get(second.number)
            both[second.number] = second if here is None else here.beside(second)
        self.seconds = [both[number] for number in sorted(both)]

    def summary(self, *, concurrency: int, release_ns: int | None) -> Summary:
        """The figures of the run. In an open workload `concurrency` is not used: it is the most that were in flight."""
        return Summary(
            requests=self.requests,
            concurrency=self.most_in_flight if self.is_open else concurrency,
            ok=self.outcomes[Outcome.OK],
            failures={outcome: self.outcomes[outcome] for outcome in sorted(self.failures)},
            statuses=dict(sorted(self.statuses.items())),
            wall_ns=self.last_done_ns,
            times=self.response.times(),
            over_ms=self.over_ms,
            over=self.over,
            release_ns=release_ns,
            resent=self.resent,
            bytes_in=self.bytes_in,
            is_burst=False,
            service=self.service.times(),
            lateness=self.late.lateness(),
            targets=self.targets.summaries(),
            is_exact=False,
            seconds=tuple(self.seconds),
        )

    @property
    def failures(self) -> list[Outcome]:
        """The classes of failed requests that occurred."""
        return [outcome for outcome, count in self.outcomes.items() if outcome != Outcome.OK and count]


@dataclass(slots=True)
class _OpenSecond:
    """A second of which rows may still come."""

    ended: int = 0
    response: Histogram = field(default_factory=Histogram)
    """Of the ok requests."""

    def settled(self, number: int) -> Second:
        times, ok = self.response.times(), self.response.total
        figures = (None, None, None) if times is None else (times.p50_ns, times.p99_ns, times.max_ns)
        return Second(number, ok, self.ended - ok, *figures)


def seconds_of(samples: Samples) -> tuple[Second, ...]:
    """A run's seconds, from all its rows."""
    tally = Tally(over_ms=1, is_open=False)
    tally.add(samples)
    tally.settle()
    return tuple(tally.seconds)


def _counts(column: NDArray[np.int8] | NDArray[np.int16]) -> list[tuple[int, int]]:
    values, counts = np.unique(column, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))
