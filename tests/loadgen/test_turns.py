from __future__ import annotations

from collections import Counter
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from loadgen.turns import turns

weights = st.lists(st.integers(1, 20), min_size=1, max_size=8)


@given(weights, st.integers(1, 5))
def test_each_has_exactly_its_share_whenever_as_many_turns_as_the_weights_have_passed(
    weights: list[int], rounds: int
) -> None:
    counts = Counter(islice(turns(weights), rounds * sum(weights)))
    assert [counts[index] for index in range(len(weights))] == [rounds * weight for weight in weights]


@given(st.lists(st.integers(1, 20), min_size=2, max_size=2), st.integers(0, 200))
def test_of_two_neither_is_ever_a_whole_turn_from_its_share(weights: list[int], count: int) -> None:
    first = sum(index == 0 for index in islice(turns(weights), count))
    assert abs(first - count * weights[0] / sum(weights)) < 1


def test_equal_weights_go_in_turn() -> None:
    assert list(islice(turns([1, 1, 1]), 7)) == [0, 1, 2, 0, 1, 2, 0]
    assert list(islice(turns([5, 5]), 4)) == [0, 1, 0, 1]


def test_a_weight_of_three_is_spread_evenly() -> None:
    assert list(islice(turns([3, 1]), 8)) == [0, 0, 1, 0, 0, 0, 1, 0]


@given(weights, st.integers(0, 50))
def test_turns_that_are_left_out_are_the_first(weights: list[int], skip: int) -> None:
    assert list(islice(turns(weights, skip), 20)) == list(islice(turns(weights), skip, skip + 20))
