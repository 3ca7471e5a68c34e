from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.diff.figures import FIGURES, FigureDiff, Side, Unfit, Verdict, compare_runs
from tests.diff.make import a_run, compared, runs_of, side

MANY = st.lists(st.floats(min_value=1, max_value=1e6), min_size=4, max_size=7)
FEW = st.lists(st.floats(min_value=1, max_value=1e6), min_size=0, max_size=3)
ANY = st.lists(st.integers(0, 6).map(float), min_size=0, max_size=7)

OPPOSITE = {
    Verdict.BETTER: Verdict.WORSE,
    Verdict.WORSE: Verdict.BETTER,
    Verdict.SAME: Verdict.SAME,
    Verdict.TOO_FEW: Verdict.TOO_FEW,
}


def by_name(diffs: list[FigureDiff]) -> dict[str, FigureDiff]:
    return {diff.figure.name: diff for diff in diffs}


@given(ANY, ANY)
def test_the_other_way_round_the_verdict_is_the_opposite(a: list[float], b: list[float]) -> None:
    there, back = compare_runs(side(a), side(b)), compare_runs(side(b), side(a))
    assert [OPPOSITE[diff.verdict] for diff in there] == [diff.verdict for diff in back]
    assert [diff.p for diff in there] == pytest.approx([diff.p for diff in back])


@given(MANY, MANY, st.randoms(use_true_random=False))
def test_neither_order_nor_unit_matters(a: list[float], b: list[float], chance: random.Random) -> None:
    shuffled = [chance.sample([8 * value for value in values], len(values)) for values in (a, b)]
    for before, after in zip(
        compare_runs(side(a), side(b)), compare_runs(side(shuffled[0]), side(shuffled[1])), strict=True
    ):
        assert (after.verdict, after.p) == (before.verdict, before.p)
        assert after.change_percent == pytest.approx(before.change_percent)


@given(FEW, st.lists(st.floats(min_value=1, max_value=1e6), max_size=20))
def test_under_four_runs_nothing_is_better_or_worse(few: list[float], any_number: list[float]) -> None:
    for a, b in ((few, any_number), (any_number, few)):
        assert {diff.verdict for diff in compare_runs(side(a), side(b))} == {Verdict.TOO_FEW}


@given(MANY)
def test_a_side_does_not_differ_from_itself(values: list[float]) -> None:
    for diff in compare_runs(side(values), side(values)):
        assert (diff.verdict, diff.change_percent) == (Verdict.SAME, 0)


def test_which_way_is_better_is_the_figures_own() -> None:
    slower = by_name(compare_runs(side([1, 2, 3, 4]), side([5, 6, 7, 8])))
    assert {name: diff.verdict.value for name, diff in slower.items()} == {
        "wall": "worse",
        "p50": "worse",
        "p99": "worse",
        "throughput": "better",
        "failed": "worse",
    }


def test_medians_intervals_and_change() -> None:
    wall = by_name(compare_runs(side([100, 110, 120, 130, 140, 150]), side([60, 50, 40, 30])))["wall"]
    assert (wall.a.runs, wall.a.median, wall.a.interval) == (6, 125, (100, 150))
    assert (wall.b.runs, wall.b.median, wall.b.interval) == (4, 45, None)
    assert (wall.change, wall.change_percent) == (-80, -64)


def test_ranks_and_medians_that_disagree_are_no_verdict() -> None:
    """Two humps: b lies higher by its ranks, and its median lower."""
    a = [10.0] * 11 + [1.0] * 10
    b = [11.0] * 10 + [9.0] * 11
    wall = by_name(compare_runs(side(a), side(b)))["wall"]
    assert wall.p is not None
    assert wall.p < 0.05
    assert wall.change == -1
    assert wall.verdict is Verdict.SAME


def test_runs_that_are_not_fit_are_left_out_and_named() -> None:
    runs = [*runs_of([10, 11, 12]), a_run(4, 900, trusted=False), a_run(5, 1, interrupted=True, trusted=False)]
    of_runs = Side.of(runs)
    assert of_runs.left_out == ((4, Unfit.UNTRUSTED), (5, Unfit.INTERRUPTED))
    assert of_runs.values["wall"] == (10, 11, 12)


def test_a_run_in_which_all_failed_has_no_times_and_no_throughput() -> None:
    """Refusals come fast: their wall would look like an improvement."""
    of_runs = Side.of([a_run(1, 2, failed=100)])
    assert of_runs.values == {"wall": (), "p50": (), "p99": (), "throughput": (0.0,), "failed": (100.0,)}


def test_failures_are_a_part_of_the_requests() -> None:
    """So that a server which answers more of them in the same time is not held to fail more."""
    of_runs = Side.of([a_run(1, 10, failed=5, requests=100), a_run(2, 10, failed=10, requests=200)])
    assert of_runs.values["failed"] == (5.0, 5.0)


def test_from_no_failures_to_some_there_is_no_per_cent() -> None:
    diff = compared([10] * 4, [10] * 4, failed=(0, 20)).figures[-1]
    assert (diff.change, diff.change_percent, diff.verdict) == (20, None, Verdict.WORSE)


def test_the_figures_are_told_in_this_order() -> None:
    assert [figure.name for figure in FIGURES] == ["wall", "p50", "p99", "throughput", "failed"]
