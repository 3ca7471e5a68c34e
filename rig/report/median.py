"""A median over runs, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rig.diff.statistics import median_interval


@dataclass(frozen=True, slots=True)
class Median:
    """The median of a figure over runs; its 95 % interval is None with fewer than LEAST_FOR_INTERVAL runs."""

    value: float
    interval: tuple[float, float] | None


def of_runs(values: Sequence[float]) -> Median | None:
    """The median and its interval by order statistics; None of no values."""
    return Median(median(values), median_interval(values)) if values else None
