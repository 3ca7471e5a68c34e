from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import UsageError
from loadgen.units import parse_duration, parse_rate, parse_stage
from loadgen.workload import Stage


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


@pytest.mark.parametrize(
    ("text", "rate"),
    [("2000", 2000), ("2000/s", 2000), ("50/1m", 50 / 60), ("50/m", 50 / 60), ("0.5/s", 0.5), ("3/500ms", 6), ("0", 0)],
)
def test_a_rate_is_a_number_by_a_time(text: str, rate: float) -> None:
    assert parse_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize(
    "text", ["", "-1", "x", "5/", "5/0s", "5/x", "/s", "1e3", "nan", "inf", "2000000", "1/1us/s", "9" * 400]
)
def test_any_other_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"at most 1,000,000, as in 2000/s or 50/1m"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "stage", "is_rate"),
    [
        ("30s:100/s", Stage(30, 100, 100), True),
        ("60s:100/s..2000/s", Stage(60, 100, 2000), True),
        ("1m:0..120/1m", Stage(60, 0, 2), True),
        ("30s:0/s", Stage(30, 0, 0), True),
        ("30s:64", Stage(30, 64, 64), False),
        ("500ms:0..64", Stage(0.5, 0, 64), False),
    ],
)
def test_a_stage_is_a_duration_and_a_level(text: str, stage: Stage, is_rate: bool) -> None:
    assert parse_stage(text) == (stage, is_rate)


@pytest.mark.parametrize(
    "text", ["", "30s", "30s:", ":64", "30:64", "0s:64", "30s:x", "30s:-1", "30s:1.5", "30s:1..", "30s:..2",
             "30s:1..2..3", "30s:1/s..x/s", "25h:1", "30s:9999999", "30s:\u0663"],
)  # fmt: skip
def test_any_other_stage_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^stage .* is not accepted: write a duration and a level[^\n]*$"):
        parse_stage(text)


@given(st.text(max_size=20))
def test_no_text_gives_anything_but_a_rate_or_a_refusal(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert 0 <= parse_rate(text) <= 1_000_000
    with contextlib.suppress(UsageError):
        parse_stage(text)
