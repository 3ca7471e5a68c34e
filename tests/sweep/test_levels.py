from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import UsageError
from loadgen.sweep.levels import parse_levels, parse_range, spread


def test_levels_are_listed_or_divided_from_a_range() -> None:
    assert parse_levels("-c", "50,100,200", steps=None) == [50, 100, 200]
    assert parse_levels("--rate", "100,200/s,30000/1m", steps=None) == [100, 200, 500]
    assert parse_levels("--rate", "100..800", steps=4) == [100, 200, 400, 800]
    assert parse_levels("-c", "1..4", steps=None) == [1, 2, 3, 4]
    assert parse_range("--rate", "10..2000/s") == (10, 2000)


@pytest.mark.parametrize(
    ("option", "text", "steps"),
    [
        ("-c", "", None), ("-c", "0,1", None), ("-c", "1.5", None), ("-c", "5,5", None), ("-c", "9,5", None),
        ("-c", "5..", None), ("-c", "9..5", None), ("--rate", "0..5", None), ("--rate", "fast", None),
        ("--rate", "-5,5", None), ("--rate", "1..5", 1), ("--rate", "1,5", 3), ("--rate", "1..5", 100000),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_what_is_accepted(option: str, text: str, steps: int | None) -> None:
    with pytest.raises(UsageError, match=r"--steps|is not accepted"):
        parse_levels(option, text, steps=steps)


@given(st.floats(0.1, 1e4), st.floats(1.5, 1e3), st.integers(2, 40), st.booleans())
def test_a_range_is_divided_into_rising_levels_from_end_to_end(
    low: float, factor: float, steps: int, whole: bool
) -> None:
    levels = spread(low, low * factor, steps, whole=whole)
    assert len(levels) <= steps
    assert all(later > earlier for earlier, later in pairwise(levels))
    assert levels[0] == pytest.approx(low, rel=0.01, abs=1 if whole else 0)
    assert levels[-1] == pytest.approx(low * factor, rel=0.01, abs=1 if whole else 0)
