"""The levels of a sweep as users write them. Imports nothing heavy."""

from __future__ import annotations

from itertools import pairwise

from loadgen.errors import UsageError
from loadgen.units import parse_rate
from loadgen.workload import MOST_USERS

DEFAULT_STEPS = 10
_MOST_STEPS = 1000


def parse_levels(option: str, text: str, *, steps: int | None) -> list[float]:
    """The levels of `50,100,200`, or of `100..5000` in so many steps, each the same factor above the one before.

    Raises:
        UsageError: it cannot be read, a level is not above 0, or they do not rise.
    """
    if ".." in text:
        low, high = parse_range(option, text)
        return spread(low, high, DEFAULT_STEPS if steps is None else steps, whole=option == "-c")
    if steps is not None:
        raise UsageError(f"--steps divides a range, as in {option} 100..5000; {option} {text} names each step")
    levels = [_level(option, part, text) for part in text.split(",")]
    if any(later <= earlier for earlier, later in pairwise(levels)):
        raise UsageError(f"{option} {text!r} is not accepted: the steps must rise, as in {option} 50,100,200")
    return levels


def parse_range(option: str, text: str) -> tuple[float, float]:
    """The ends of `LOW..HIGH`.

    Raises:
        UsageError: it is no such thing, or HIGH is not above LOW.
    """
    first, dots, last = text.partition("..")
    if not dots:
        raise UsageError(f"{option} {text!r} is not accepted: write LOW..HIGH, as in {option} 100..5000")
    low, high = _level(option, first, text), _level(option, last, text)
    if high <= low:
        raise UsageError(f"{option} {text!r} is not accepted: the second level must be above the first")
    return low, high


def spread(low: float, high: float, steps: int, *, whole: bool) -> list[float]:
    """So many levels from low to high, each the same factor above the one before; whole ones may become fewer."""
    if not 2 <= steps <= _MOST_STEPS:
        raise UsageError(f"--steps takes 2 to {_MOST_STEPS:,}, not {steps}")
    levels = [low * (high / low) ** (number / (steps - 1)) for number in range(steps)]
    levels[-1] = high
    return sorted({rounded(level, whole=whole) for level in levels})


def rounded(level: float, *, whole: bool) -> float:
    """A level as it is tried: whole users, or a rate of three digits."""
    return float(max(1, round(level))) if whole else float(f"{level:.3g}") if level < 1000 else float(round(level))


def _level(option: str, part: str, text: str) -> float:
    part = part.strip()
    if option == "-c":
        if not (part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_USERS):
            raise UsageError(f"-c {text!r} is not accepted: write users, as in -c 50,100,200 or -c 10..1000")
        return float(part)
    try:
        rate = parse_rate(part)
    except UsageError:
        rate = 0.0
    if rate <= 0:
        raise UsageError(
            f"--rate {text!r} is not accepted: write rates above 0, as in --rate 100..5000 or --rate 100,200/s,500"
        )
    return rate
