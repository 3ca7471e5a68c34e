"""Durations as users write them."""

from __future__ import annotations

import math
import re
from typing import Final

from loadgen.errors import UsageError

_FACTORS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")


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
