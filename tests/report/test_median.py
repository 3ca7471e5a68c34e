from __future__ import annotations

import numpy as np
import pytest

from rig.diff.statistics import LEAST_FOR_INTERVAL
from rig.report.median import Median, of_runs


def test_of_no_values_there_is_no_median() -> None:
    assert of_runs([]) is None


@pytest.mark.parametrize("runs", range(1, LEAST_FOR_INTERVAL))
def test_of_few_runs_there_is_no_interval(runs: int) -> None:
    median = of_runs([*range(runs)])
    assert median is not None
    assert median.interval is None


@pytest.mark.parametrize(
    ("runs", "low", "high"),
    [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (20, 6, 15), (25, 8, 18)],
)
def test_the_interval_is_that_of_the_tables(runs: int, low: int, high: int) -> None:
    """Ranks of the 95 % interval as tables of the sign test print them."""
    assert of_runs([*range(runs, 0, -1)]) == Median((runs + 1) / 2, (low, high))


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    draws = np.random.default_rng(1).exponential(size=(2000, 12))
    held = 0
    for draw in draws:
        median = of_runs(draw.tolist())
        assert median is not None
        assert median.interval is not None
        held += median.interval[0] <= np.log(2) <= median.interval[1]
    assert held / len(draws) >= 0.95
