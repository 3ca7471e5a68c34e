"""What a number of places makes of the times of requests: a trial of it, and the fit that comes of the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loadgen.samples import Ints

Floats = NDArray[np.float64]

CRISP_SPREAD: Final = 0.03
"""Of service times that are alike to a few hundredths."""
WAIT_PART: Final = 0.25
"""Of a service time; who waited less may have been late by the network, or by the release, alone."""
_MIN_SPREAD: Final = 0.004
"""Relative; differences below are the clock's and the loop's, not the server's."""
_MOST_DEVIATION: Final = 0.6
_TWO_WAVES: Final = 1.8
"""Times the quickest response; two waves take it twice, if not quite where the first was slower than the second."""
_AFTER_COLD: Final = 0.6
"""Of the first wave's service time, what a second one takes at least that need not be a cold one."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A limit, and how well it accounts for the times. Arrays are in the order of the rows given."""

    limit: int
    requests: int
    start_ns: Ints
    service_ns: Ints
    waiting: int
    """How many waited for a place for more than WAIT_PART of a service time."""
    spread: float
    """Mean deviation of the service times, each from the median of its group, as a part of that."""
    free_spread: float
    """The same if nothing had to wait."""
    alike: float
    """Median service time of those that waited, as a multiple of the first ones'; 1 where none waited."""
    gap: bool
    """Whether nothing was completed between the first wave and the second."""
    last_end: float
    """When the last had ended, as a multiple of the quickest response."""

    @property
    def is_possible(self) -> bool:
        """Whether two waves took no less than two after one another can; more waves than two show by themselves.

        Where times are alike to a few hundredths the first wave may have been a cold one, and slower than the second.
        """
        if not self.limit < self.requests <= 2 * self.limit or self.last_end >= _TWO_WAVES:
            return True
        return self.spread <= CRISP_SPREAD and self.alike >= _AFTER_COLD

    @property
    def median_ns(self) -> float:
        """The service time in the middle."""
        return float(np.median(self.service_ns))

    @property
    def range_ns(self) -> tuple[float, float]:
        """The 5th and the 95th hundredth of the service times."""
        low, high = np.quantile(self.service_ns, (0.05, 0.95))
        return float(low), float(high)

    @property
    def gain(self) -> float:
        """How much likelier the times are with this limit than without any; natural logarithm."""
        return self.requests * float(np.log(max(self.free_spread, _MIN_SPREAD) / max(self.spread, _MIN_SPREAD)))


@dataclass(frozen=True, slots=True)
class Trial:
    """What one limit makes of the service times: of the first ones, which did not wait, and of the others."""

    unlike: float
    """The worse of the two groups' spreads. Each group is held against itself: a first wave may be a cold one. And each
    counts for itself: twice the limit doubles all service times but those of half the first ones, and must not win
    because these are few."""
    spread: float
    """Of all, each held against its group."""
    alike: float

    @classmethod
    def of(cls, first: Floats, others: Floats) -> Trial:
        """Of the service times of those that did not wait, shape (limit,), and of all others; in ns."""
        first_spread, first_mean = _relative_deviation(first)
        if not len(others):
            return cls(first_spread, first_spread, 1.0)
        other_spread, other_mean = _relative_deviation(others)
        n = len(first) + len(others)
        spread = (len(first) * first_spread + len(others) * other_spread) / n
        return cls(max(first_spread, other_spread), spread, other_mean / first_mean if first_mean > 0 else float("inf"))


def _relative_deviation(values: Floats) -> tuple[float, float]:
    """The mean deviation from the median as a part of that, and the median.

    A deviation counts as _MOST_DEVIATION at most: one wave that a stand-still held up must not outweigh the others.
    """
    median = float(np.median(values))
    if median <= 0:
        return float("inf"), median
    return float(np.minimum(np.abs(values - median) / median, _MOST_DEVIATION).mean()), median
