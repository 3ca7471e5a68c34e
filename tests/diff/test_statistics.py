from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, quantile_test  # type: ignore[import-untyped]

from rig.diff.statistics import LEAST_FOR_INTERVAL, mann_whitney_p, median_interval, rank_shift

VALUES = st.floats(min_value=0, max_value=1e6, allow_nan=False)
FEW_AND_TIED = st.lists(st.integers(0, 3).map(float), min_size=2, max_size=5)


@given(st.lists(VALUES, min_size=1, max_size=60))
def test_the_interval_is_that_of_scipy(values: list[float]) -> None:
    interval = median_interval(values)
    theirs = quantile_test(values, p=0.5).confidence_interval(0.95)
    if len(values) < LEAST_FOR_INTERVAL:
        assert interval is None
    else:
        assert interval == (theirs.low, theirs.high)


@given(st.lists(VALUES, min_size=2, max_size=16, unique=True), st.data())
def test_without_ties_p_is_scipys_exact_one(values: list[float], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    a, b = values[:cut], values[cut:]
    assert mann_whitney_p(a, b) == pytest.approx(mannwhitneyu(a, b, method="exact").pvalue)


@given(FEW_AND_TIED, FEW_AND_TIED)
def test_with_ties_p_is_a_count_of_all_ways_to_part_the_values(a: list[float], b: list[float]) -> None:
    pooled = a + b
    places = range(len(pooled))
    shifts = [
        rank_shift([pooled[i] for i in chosen], [pooled[i] for i in places if i not in chosen])
        for chosen in combinations(places, len(a))
    ]
    seen = rank_shift(a, b)
    tail = min(sum(shift >= seen for shift in shifts), sum(shift <= seen for shift in shifts))
    assert mann_whitney_p(a, b) == pytest.approx(min(1.0, 2 * tail / len(shifts)))


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ([1, 2, 3, 4], [5, 6, 7, 8], 2 / 70),
        ([0, 0, 0, 0], [5, 5, 5, 5], 2 / 70),
        ([0, 0, 0], [5, 5, 5], 2 / 20),  # scipy's approximation: 0.047
        ([1, 2, 3], [4, 5, 6], 2 / 20),
        ([7, 7, 7, 7], [7, 7, 7, 7], 1),
    ],
)
def test_known_p(a: list[float], b: list[float], p: float) -> None:
    assert mann_whitney_p(a, b) == pytest.approx(p)


def test_many_values_with_ties_are_approximated() -> None:
    a, b = [float(i % 10) for i in range(40)], [float(i % 10 + 3) for i in range(40)]
    assert mann_whitney_p(a, b) == pytest.approx(mannwhitneyu(a, b, method="asymptotic").pvalue)
