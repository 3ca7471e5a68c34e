"""A median over runs, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Final

LEAST_RUNS: Final = 6
"""Fewer have no 95 % interval: all of 5 lie on one side of the true median 1 time in 16."""

_OUTSIDE: Final = 0.025


@dataclass(frozen=True, slots=True)
class Median:
    """The median of a figure over runs; its 95 % interval is None with fewer than LEAST_RUNS."""

    value: float
    interval: tuple[float, float] | None


def of_runs(values: Sequence[float]) -> Median | None:
    """The median and its interval by order statistics; None of no values.

    As many of n independent values lie below the true median as n fair coins show heads, whatever the distribution: the
    k-th smallest and the k-th largest miss it with twice the chance of fewer than k heads. (David and Nagaraja, Order
    Statistics, 7.1.)
    """
    if not values:
        return None
    ordered = sorted(values)
    total, k, chance = len(ordered), 0, 0.0
    while (chance := chance + comb(total, k) / 2**total) <= _OUTSIDE:
        k += 1
    return Median(median(ordered), (ordered[k - 1], ordered[total - k]) if k else None)
