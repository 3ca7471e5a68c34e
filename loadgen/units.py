"""Durations, rates and stages as users write them."""

from __future__ import annotations

import math
import re
from typing import Final

from loadgen.errors import UsageError
from loadgen.workload import MOST_RATE, Stage

_FACTORS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


def parse_duration(text: str) -> float:
    """Seconds of a duration such as `1500ms`, `2s`, `1.5m`; `0` needs no unit.

    Raises:
        UsageError: it is not a number and a unit.
    """
    if text == "0":
        return 0.0
    match = _DURATION.fullmatch(text.strip())
    seconds = math.inf if match is None else float(match[1]) * _FACTORS[match[2]]
    if seconds == math.inf:  # also what no float can hold
        raise UsageError(f"duration {text!r} is not accepted: write a number and a unit, as in 1500ms, 2s or 1m")
    return seconds


def parse_whole_ms(option: str, text: str) -> int:
    """Milliseconds of a duration, for an option whose value names a column.

    Raises:
        UsageError: it is no duration, under 1 ms, or not whole milliseconds.
    """
    ms = parse_duration(text) * 1000
    if round(ms) < 1 or abs(round(ms) - ms) > 1e-6:
        raise UsageError(f"{option} takes 1 ms or more, in whole milliseconds, as in 1500ms or 2s")
    return round(ms)


def parse_rate(text: str) -> float:
    """Requests a second of a rate such as `2000`, `2000/s`, `50/1m` or `0.5/s`; 0 too.

    Raises:
        UsageError: it is not a number, by a duration or for one second, or more than any machine carries.
    """
    number, slash, per = text.strip().partition("/")
    if per and not per[0].isdigit():
        per = f"1{per}"
    try:
        seconds = parse_duration(per) if slash else 1.0
        rate = float(number) / seconds if _NUMBER.fullmatch(number) and seconds > 0 else math.inf
    except (UsageError, OverflowError):
        rate = math.inf
    if rate > MOST_RATE:
        raise UsageError(
            f"rate {text!r} is not accepted: write requests a second, at most {MOST_RATE:,.0f}, as in 2000/s or 50/1m"
        )
    return rate


def parse_stage(text: str) -> tuple[Stage, bool]:
    """A stage such as `30s:100/s`, `60s:100/s..2000/s` (rates) or `30s:64`, `30s:0..64` (users); True for rates.

    Raises:
        UsageError: it is no such thing.
    """
    duration, colon, levels = text.strip().partition(":")
    first, dots, last = levels.partition("..")
    last = last if dots else first
    try:
        if not colon or not first or not last:
            raise UsageError(text)
        is_rate = "/" in levels
        if is_rate:
            return Stage(parse_duration(duration), parse_rate(first), parse_rate(last)), True
        if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()):
            raise UsageError(text)
        return Stage(parse_duration(duration), float(first), float(last)), False
    except UsageError:
        raise UsageError(
            f"stage {text!r} is not accepted: write a duration and a level, of requests as in 30s:100/s or"
            " 60s:100/s..2000/s, or of users as in 30s:64 or 30s:0..64"
        ) from None
