from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from loadgen.sweep.search import TOLERANCE, Bracket

MOST_STEPS = 30


def carried_out(bracket: Bracket, capacity: float) -> list[float]:
    tried = []
    while (level := bracket.next()) is not None:
        tried.append(level)
        bracket.tell(level <= capacity)
        assert len(tried) <= MOST_STEPS
    return tried


@given(st.floats(10, 99_999), st.booleans())
def test_the_highest_level_is_found_within_the_tolerance(capacity: float, whole: bool) -> None:
    bracket = Bracket(10, 100_000, whole)
    tried = carried_out(bracket, capacity)
    assert bracket.kept is not None
    assert bracket.kept <= capacity
    assert bracket.confirmed
    assert tried.count(bracket.kept) == 2
    if bracket.missed is not None:
        assert bracket.missed > capacity
        assert bracket.missed <= max(bracket.kept * (1 + 1.2 * TOLERANCE), bracket.kept + 1)


def test_a_lowest_level_that_is_missed_ends_it() -> None:
    bracket = Bracket(10, 1000, whole=False)
    assert carried_out(bracket, 5) == [10]
    assert (bracket.kept, bracket.missed) == (None, 10)


def test_a_highest_level_that_is_kept_is_the_answer() -> None:
    bracket = Bracket(10, 1000, whole=True)
    assert carried_out(bracket, 10**6)[-1] == 1000
    assert (bracket.kept, bracket.missed, bracket.confirmed) == (1000, None, True)


def test_an_answer_that_fails_when_tried_again_gives_way_to_the_next_below() -> None:
    bracket = Bracket(10, 1000, whole=True)
    tried: list[float] = []
    while (level := bracket.next()) is not None:
        bracket.tell(level <= (100 if level not in tried else 80))
        tried.append(level)
    assert bracket.kept is not None
    assert bracket.kept <= 100
    assert len(tried) <= MOST_STEPS


@given(st.lists(st.booleans(), min_size=80, max_size=80), st.booleans())
def test_nothing_is_said_to_be_kept_that_was_not_tried(answers: list[bool], whole: bool) -> None:
    bracket = Bracket(10, 1000, whole=whole)
    kept: Counter[float] = Counter()
    for was_kept in answers:
        level = bracket.next()
        if level is None:
            break
        bracket.tell(was_kept)
        if was_kept:
            kept[level] += 1
        else:
            kept = Counter({below: times for below, times in kept.items() if below < level})
        assert bracket.kept == max(kept, default=None)
        assert bracket.confirmed == (bracket.kept is not None and kept[bracket.kept] > 1)
    assert level is None, "the search ends"
