"""Whether completions keep up with arrivals at a rate: the backlog of requests that were due and are not done.

The backlog is looked at while requests arrive, as its mean over each of BLOCKS stretches of equal length. The first of
them are left out: there it grows to the number at work in any case. A straight line through the means (least squares)
says by how many requests it grew. It grows where that is more than chance makes (the slope is many times its standard
error) and not of no account (a part of the arrivals). Pure: samples in, figures out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loadgen.samples import MISSING, Ints, Samples

BLOCKS: Final = 12
_LEFT_OUT: Final = 2
_SETTLED: Final = 2.0
"""Response times of the first requests; only after so long the number at work has settled."""
_FEWEST_BLOCKS: Final = 6
_SURE: Final = 4.0
"""Standard errors of the slope; of ten means chance makes so many once in 400 times, and must also reach _PART."""
_PART: Final = 0.02
"""Of the arrivals in the same time; completions are so far behind at least."""
_LEAST: Final = 5.0
"""Requests."""
_CHANCE: Final = 2.0
"""Standard deviations of the number at work, were it a Poisson count."""
_FEWEST: Final = 40
_EVEN: Final = 5.0
"""Standard deviations of a Poisson count; arrivals that differ by more do not come at one rate."""
_TREND: Final = 4.0
"""Standard deviations of the slope of Poisson counts; arrivals with more have a ramp in them."""
_SATURATED: Final = (0.3, 0.9)
"""Of the completions, in order: by then the queue stands, and after it there are too few left to fill every place."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Backlog:
    """What became of requests that came at their own times."""

    requests: int
    """How many arrived."""
    arrival_rps: float
    mean: float
    """Requests due and not done, on average after the beginning."""
    growth_rps: float
    """By how many requests a second that grew; negative where it shrank."""
    growth: float
    """By how many requests it grew in all, after the beginning."""
    at_first: float
    """Requests due and not done when that began."""
    grows: bool
    """Whether it grew, surely and by more than is of no account: completions fell behind."""
    is_even: bool
    """Whether arrivals came at one rate from the first to the last."""

    @property
    def completion_rps(self) -> float:
        """Completions a second meanwhile."""
        return max(0.0, self.arrival_rps - self.growth_rps)

    @classmethod
    def of(cls, samples: Samples) -> Backlog | None:
        """That of an open run; None where they are too few, or last too long, to tell. What failed is never done."""
        due = np.sort(samples.due[samples.due != MISSING])
        if len(due) < _FEWEST or due[-1] == due[0]:
            return None
        done = np.sort(samples.done[samples.ok])
        edges = np.linspace(float(due[0]), float(due[-1]), BLOCKS + 1)
        block_s = float(edges[1] - edges[0]) / 1e9
        means = (_area(due, edges) - _area(done, edges)) / (block_s * 1e9)
        out = max(_LEFT_OUT, int(np.ceil(_SETTLED * _first_response_s(samples) / block_s)))
        if BLOCKS - out < _FEWEST_BLOCKS:
            return None
        means = means[out:]
        slope, error = _slope(means)
        span_s = len(means) * block_s
        arrived = np.histogram(due, edges)[0]
        growth = slope * len(means)
        rate = (len(due) - 1) / (BLOCKS * block_s)
        least = max(_LEAST, _PART * rate * span_s, _CHANCE * float(np.sqrt(max(means[0], 0.0))))
        return cls(
            requests=len(due),
            arrival_rps=rate,
            mean=float(means.mean()),
            growth_rps=slope / block_s,
            growth=growth,
            at_first=float(means[0]),
            grows=growth > least and slope > _SURE * error,
            is_even=_is_even(arrived),
        )


def capacity_rps(done_ns: Ints) -> float:
    """Completions a second while requests waited all the time: the slope of their count over time (least squares)."""
    ordered = np.sort(done_ns).astype(np.float64)
    low, high = (int(part * len(ordered)) for part in _SATURATED)
    at, rank = ordered[low:high] / 1e9, np.arange(low, high, dtype=np.float64)
    at -= at.mean()
    return float((at * (rank - rank.mean())).sum() / (at * at).sum())


def _is_even(arrived: Ints) -> bool:
    """Whether so many arrivals in each stretch are those of one rate: neither too unlike nor with a trend."""
    mean = float(arrived.mean())
    at = np.arange(len(arrived)) - (len(arrived) - 1) / 2
    by_chance = np.sqrt(mean / float((at * at).sum()))
    slope, _ = _slope(arrived.astype(np.float64))
    return bool(np.ptp(arrived) <= _EVEN * np.sqrt(2 * mean) and abs(slope) <= _TREND * by_chance)


def _first_response_s(samples: Samples) -> float:
    """The median of the first tenth of the requests; what failed counts with the time that it took."""
    first = np.argsort(samples.due, kind="stable")
    first = first[samples.due[first] != MISSING]
    return float(np.median(samples.response_ns[first[: max(1, len(first) // 10)]])) / 1e9


def _area(moments: Ints, edges: Floats) -> Floats:
    """For each stretch between two edges, the time since each moment within it or before it, added up, in ns."""
    sums = np.concatenate(([0.0], np.cumsum(moments, dtype=np.float64)))
    count = np.searchsorted(moments, edges)
    area: Floats = np.diff(count * edges - sums[count])
    return area


def _slope(values: Floats) -> tuple[float, float]:
    """The slope of a line through the values, a step, and its standard error."""
    at = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float((at * values).sum() / (at * at).sum())
    left = values - values.mean() - slope * at
    variance = float((left * left).sum()) / (len(values) - 2)
    return slope, float(np.sqrt(variance / (at * at).sum()))
