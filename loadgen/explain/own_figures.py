"""Where the server's own figures (Server-Timing) put the waiting for a place: in one of them, or outside all of them.

A figure holds the waiting if those that found a free place have next to none of it and those that had to wait have a
good part of a service time, while what is to be the work is alike for both: another figure, or what is left of the
response time. Its name says nothing. Then the limit lies behind it: were there fewer places before it than behind it,
nobody would wait there.

What lies outside is the response time less all figures. Figures that contain each other are counted twice by that, so
it is never more than was outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from loadgen.explain.evidence import Ints, Mask, count_of, milliseconds
from loadgen.explain.fit import WAIT_PART
from loadgen.explain.reading import Reading
from loadgen.explain.words import spoken_ms
from loadgen.samples import MISSING

_MOST_UNTIMED: Final = 0.1
"""Of the requests; with more that have no figures, nothing is said of them all."""
_WAITED: Final = 0.5
_WORK: Final = (0.5, 1.3)
"""Of the service time."""
_MOST_PART: Final = 1.2
"""A figure that has more of the waiting than there was is no wait."""
_OUTSIDE: Final = 0.2
_MOSTLY_OUTSIDE: Final = 0.7


@dataclass(frozen=True, slots=True)
class OwnFigures:
    """What the server's own figures say of the waiting."""

    clause: str = ""
    """To be appended to a sentence; empty where they say nothing of it."""
    evidence: dict[str, Any] = field(default_factory=dict)
    is_inside: bool = False
    """Whether requests waited within the server's handler, so not in any queue before it alone."""


def own_figures(reading: Reading) -> OwnFigures:
    """What they say, for a reading that shows a limit."""
    timing, fit = reading.evidence.samples.server_timing, reading.fit
    if not timing:
        return OwnFigures()
    known = reading.start_ns != MISSING
    timed = known & np.any([column != MISSING for column in timing.values()], axis=0)
    waited, free = timed & reading.waited, timed & ~reading.waited
    if fit is None or not waited.any() or not free.any() or count_of(timed) < (1 - _MOST_UNTIMED) * count_of(known):
        return OwnFigures()
    view = _View(reading, waited, free, {name: np.maximum(column, 0) for name, column in timing.items()})
    outside, outside_most = view.outside
    evidence: dict[str, Any] = {"outside_part": round(outside, 2), "outside_most_ms": milliseconds(outside_most)}
    metric = view.waiting_metric()
    if metric is not None:
        name, work = metric
        low, high = view.range_of(name)
        evidence |= {"waited_in": name, "wait_ms": [milliseconds(low), milliseconds(high)]}
        clause = f"; by the server's own figures they waited in `{name}`, {spoken_ms(low)} to {spoken_ms(high)}"
        if work is not None:
            evidence["work_ms"] = milliseconds(view.median_of(work))
            clause += f", and spent about {spoken_ms(view.median_of(work))} in `{work}`"
        clause += f": the limit of {fit.limit:,} lies behind `{name}`"
        if outside >= _OUTSIDE:
            clause += f"; up to {spoken_ms(outside_most)} were outside these figures, as in a queue before the handler"
        return OwnFigures(clause, {"server_timing": evidence}, is_inside=True)
    if outside >= _MOSTLY_OUTSIDE:
        clause = (
            f"; the server's own figures account for about {spoken_ms(view.median_inside)} of each: up to"
            f" {spoken_ms(outside_most)} were outside them, as in a queue before the handler"
        )
        return OwnFigures(clause, {"server_timing": evidence})
    return OwnFigures(evidence={"server_timing": evidence})


@dataclass(frozen=True, slots=True)
class _View:
    """The figures of those that waited for a place and of those that found one free."""

    reading: Reading
    waited: Mask
    free: Mask
    timing: dict[str, Ints]
    """0 where a response does not have one that others have: there was nothing of it."""

    @property
    def outside(self) -> tuple[float, int]:
        """The part of the waiting that is outside all figures, and the most of it that a request had, in ns."""
        outside = np.maximum(self._took - self._inside, 0)[self.waited]
        return float(np.minimum(outside, self._wait).sum() / self._wait.sum()), int(outside.max())

    @property
    def median_inside(self) -> float:
        """All figures together, of those that waited."""
        return float(np.median(self._inside[self.waited]))

    def median_of(self, name: str) -> float:
        """Of those that waited."""
        return float(np.median(self.timing[name][self.waited]))

    def range_of(self, name: str) -> tuple[int, int]:
        """The least and the most of those that waited."""
        durations = self.timing[name][self.waited]
        return int(durations.min()), int(durations.max())

    def waiting_metric(self) -> tuple[str, str | None] | None:
        """The figure that holds the waiting, and the one that is the work where there is one; None where none does."""
        waits = [name for name in self.timing if self._is_wait(name)]
        if not waits:
            return None
        wait = max(waits, key=self.median_of)
        works = [name for name, column in self.timing.items() if name != wait and self._is_work(column)]
        if works:
            return wait, max(works, key=self.median_of)
        return (wait, None) if self._is_work(self._took - self.timing[wait]) else None

    @property
    def _took(self) -> Ints:
        return self.reading.evidence.samples.done - self.reading.arrival_ns

    @property
    def _inside(self) -> Ints:
        inside: Ints = np.sum([*self.timing.values()], axis=0)
        return inside

    @property
    def _wait(self) -> Ints:
        return (self.reading.start_ns - self.reading.arrival_ns)[self.waited]

    @property
    def _service_ns(self) -> float:
        return self.reading.median_service_ns

    def _is_wait(self, name: str) -> bool:
        durations = self.timing[name]
        return (
            float(np.median(durations[self.free])) <= WAIT_PART * self._service_ns
            and float(np.median(durations[self.waited])) >= _WAITED * self._service_ns
            and float(durations[self.waited].sum()) <= _MOST_PART * float(self._wait.sum())
        )

    def _is_work(self, durations: Ints) -> bool:
        low, high = (part * self._service_ns for part in _WORK)
        return all(low <= float(np.median(durations[rows])) <= high for rows in (self.waited, self.free))
