from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import UsageError
from loadgen.units import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("1500ms", 1.5), ("2s", 2), ("1.5m", 90), ("1h", 3600), ("250us", 0.00025), (" 2s ", 2), ("0s", 0)],
)
def test_a_number_and_a_unit_are_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "s", "-1s", "+1s", "1 s", "1S", "1sec", "1.s", ".5s", "1e3s", "nan", "infs", "1s2", "1,5s", "2d"]
)
def test_anything_else_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(UsageError, match="write a number and a unit, as in 1500ms, 2s or 1m"):
        parse_duration(text)


def test_a_duration_that_no_float_can_hold_is_refused() -> None:
    with pytest.raises(UsageError, match="is not accepted"):
        parse_duration("9" * 400 + "h")


@given(st.integers(0, 10**9), st.sampled_from([("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]))
def test_every_whole_number_of_a_unit_is_accepted(number: int, unit: tuple[str, float]) -> None:
    assert parse_duration(f"{number}{unit[0]}") == pytest.approx(number * unit[1])


@given(st.text(max_size=20))
def test_no_text_gives_anything_but_a_time_or_a_refusal(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert 0 <= parse_duration(text) < float("inf")
