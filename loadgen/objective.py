"""Objectives: what a run must come to, as in `p99<200ms`, and whether it did.

A run that is not trusted has figures of the generator, so it can neither miss an objective nor meet one; it does not
pass. Imports nothing heavy.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loadgen.errors import UsageError
from loadgen.units import parse_duration, parse_rate

if TYPE_CHECKING:
    from loadgen.summary import Summary

_TIMES: Final = ("min", "p50", "p90", "p95", "p99", "max", "mean")
_COUNTS: Final = ("over", "failed")
FIGURES: Final = (*_TIMES, "wall", "release", *_COUNTS, "throughput")
"""What an objective may be about."""

_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_FORM: Final = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*(\S+)\s*", re.ASCII)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_MOST_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Objective:
    """A bound on one figure."""

    text: str
    """As it was written, without spaces."""
    figure: str
    """One of FIGURES."""
    comparison: str
    bound: float
    unit: str
    """Of the bound, and of the values judged: `ms`, `%` (of all requests), `/s`, or none for a count."""

    def judge(self, summary: Summary, trusted: bool) -> Verdict:
        """Whether a run met it. A figure without a value, as p99 where no request was ok, misses it."""
        value = self._value(summary)
        if not trusted:
            return Verdict(self, value, None)
        return Verdict(self, value, value is not None and self.holds(value))

    def holds(self, value: float) -> bool:
        """Whether a value, in the objective's unit, is within the bound."""
        return _COMPARISONS[self.comparison](value, self.bound)

    def worse(self, value: float) -> float:
        """A measure of how far a value is on the wrong side: higher is worse."""
        return value if self.comparison[0] == "<" else -value

    def shown(self, value: float | None) -> str:
        """A value in words, with no more digits than tell on which side of the bound it is."""
        if value is None:
            return "n/a"
        digits = 0 if abs(value) >= 10 or value == round(value) else 2
        while digits < _MOST_DIGITS and self.holds(round(value, digits)) != self.holds(value):
            digits += 1
        number = f"{value:,.{digits}f}"
        number = number.rstrip("0").rstrip(".") if digits else number
        return f"{number}{'' if self.unit in ('', '/s') else ' '}{self.unit}"

    def _value(self, summary: Summary) -> float | None:
        """The figure, in the objective's unit."""
        if self.figure in _COUNTS:
            count = float(getattr(summary, self.figure))
            return 100 * count / summary.requests if self.unit == "%" else count
        if self.figure == "throughput":
            return summary.throughput_rps if summary.ok else 0.0
        if self.figure in _TIMES:
            ns = None if summary.times is None else getattr(summary.times, f"{self.figure}_ns")
        else:
            ns = getattr(summary, f"{self.figure}_ns")
        return None if ns is None else ns / 1e6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run came to, held against an objective."""

    objective: Objective
    value: float | None
    """In the objective's unit; None where the figure has none."""
    met: bool | None
    """None: not judged, because the run is not to be trusted."""

    @property
    def words(self) -> str:
        """The verdict and the measured value."""
        if self.met is None:
            return "not judged: the generator was the bottleneck"
        return f"{'met' if self.met else 'missed'}: {self.objective.shown(self.value)}"

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "objective": self.objective.text,
            "value": None if self.value is None else round(self.value, 3),
            "met": self.met,
        }


def parse_objective(text: str) -> Objective:
    """An objective such as `p99<200ms`, `failed<1%`, `over<=3` or `throughput>1000/s`.

    Raises:
        UsageError: it cannot be read, is about an unknown figure, or its value has another unit.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(
            f"objective {text!r} is not accepted: write a figure, one of < <= > >=, and a value, as in p99<200ms,"
            " failed<1% or throughput>1000"
        )
    figure, comparison, value = match[1], match[2], match[3]
    if figure not in FIGURES:
        raise UsageError(f"objective {text!r} is not accepted: the figures are {', '.join(FIGURES)}")
    bound, unit = _bound(figure, value, text)
    return Objective(f"{figure}{comparison}{value}", figure, comparison, bound, unit)


def _bound(figure: str, value: str, text: str) -> tuple[float, str]:
    """The value and its unit."""
    if figure == "throughput":
        return parse_rate(value), "/s"
    if figure in _COUNTS:
        number = value.removesuffix("%")
        unit = "%" if number != value else ""
        if not _NUMBER.fullmatch(number) or (unit and float(number) > 100):
            raise UsageError(f"objective {text!r} is not accepted: {figure} takes a count or a part, as in 3 or 1%")
        return float(number), unit
    try:
        return parse_duration(value) * 1000, "ms"
    except UsageError:
        raise UsageError(f"objective {text!r} is not accepted: {figure} takes a duration, as in 200ms or 2s") from None


def verdict_lines(runs: Sequence[Sequence[Verdict]]) -> Iterator[str]:
    """A line an objective, from the verdicts of each run that was judged, in the order of the objectives."""
    for verdicts in zip(*runs, strict=True):
        yield _verdict_line(verdicts)


def _verdict_line(verdicts: Sequence[Verdict]) -> str:
    """The line of one objective over the runs, which must not be none: the worst decides."""
    objective, runs = verdicts[0].objective, len(verdicts)
    worst = max(verdicts, key=_badness)
    if runs == 1:
        return f"slo: {objective.text} {worst.words}"
    if worst.met:
        return f"slo: {objective.text} met in each of {runs} runs: {objective.shown(worst.value)} at worst"
    alike = sum(verdict.met == worst.met for verdict in verdicts)
    verdict, _, reason = worst.words.partition(": ")
    at_worst = "" if worst.met is None else " at worst"
    return f"slo: {objective.text} {verdict} in {alike} of {runs} runs: {reason}{at_worst}"


def _badness(verdict: Verdict) -> tuple[int, float]:
    """Missed is worse than not judged, and that worse than met; among these the value decides."""
    rank = {True: 0, None: 1, False: 2}[verdict.met]
    return rank, float("inf") if verdict.value is None else verdict.objective.worse(verdict.value)
