"""Two sides' runs -> a comparison of each figure, with a verdict. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any, Final

from rig.diff.statistics import LEAST_RUNS, SIGNIFICANT, mann_whitney_p, median_interval, rank_shift


@dataclass(frozen=True, slots=True)
class Figure:
    """What is compared."""

    name: str
    unit: str
    """`ms`, `/s`, or `%` of all requests."""
    higher_is_better: bool = False

    def value(self, run: Mapping[str, Any]) -> float | None:
        """That of a run in its JSON form, in `unit`; None where it has none.

        Where no request was ok, there is no wall to speak of: it tells how soon the requests failed.
        """
        if self.name == "failed":
            return 100 * run["failed"] / run["requests"] if run["requests"] else None
        if self.name == "throughput":
            return run["throughput_rps"] if run["ok"] else 0.0
        value: float | None = run[f"{self.name}_ms"]
        return value if run["ok"] else None


FIGURES: Final = (
    Figure("wall", "ms"),
    Figure("p50", "ms"),
    Figure("p99", "ms"),
    Figure("throughput", "/s", higher_is_better=True),
    Figure("failed", "%"),
)


class Verdict(StrEnum):
    """What became of a figure from the first side to the second."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "~"
    """No difference seen. Not: there is none."""
    TOO_FEW = "too few runs to tell"


class Unfit(StrEnum):
    """Why a run is left out."""

    INTERRUPTED = "interrupted"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True)
class Side:
    """The runs of one side."""

    values: Mapping[str, tuple[float, ...]]
    """By figure: one value for each run that has it and is not left out."""
    left_out: tuple[tuple[int, Unfit], ...] = ()
    """Runs by number."""

    @classmethod
    def of(cls, runs: Iterable[Mapping[str, Any]]) -> Side:
        """Of runs in their JSON form, as in docs/output.md.

        Raises:
            KeyError: a run lacks a key.
        """
        fit, left_out = [], []
        for run in runs:
            reason = Unfit.INTERRUPTED if run["interrupted"] else None if run["trusted"] else Unfit.UNTRUSTED
            if reason is None:
                fit.append(run)
            else:
                left_out.append((run["run"], reason))
        values = {
            figure.name: tuple(value for run in fit if (value := figure.value(run)) is not None) for figure in FIGURES
        }
        return cls(values, tuple(left_out))


@dataclass(frozen=True, slots=True)
class Centre:
    """Where the values of one side lie."""

    runs: int
    median: float | None
    """None where there are no values."""
    interval: tuple[float, float] | None
    """Of 95 %, of the median; None under 6 runs."""

    @classmethod
    def of(cls, values: tuple[float, ...]) -> Centre:
        """Of one value a run."""
        return cls(len(values), median(values) if values else None, median_interval(values))


@dataclass(frozen=True, slots=True)
class FigureDiff:
    """One figure on both sides."""

    figure: Figure
    a: Centre
    b: Centre
    p: float | None
    """None where there are too few runs."""
    verdict: Verdict

    @property
    def change(self) -> float | None:
        """From the median of a to that of b, in the figure's unit."""
        return None if self.a.median is None or self.b.median is None else self.b.median - self.a.median

    @property
    def change_percent(self) -> float | None:
        """The same in per cent of a's median; None where that is 0 and b's is not."""
        change, before = self.change, self.a.median
        if change is None or before is None:
            return None
        if not change:
            return 0.0
        return 100 * change / before if before else None


def compare_runs(a: Side, b: Side) -> list[FigureDiff]:
    """Each of FIGURES, of b against a."""
    return [_compare(figure, a.values[figure.name], b.values[figure.name]) for figure in FIGURES]


def _compare(figure: Figure, a: tuple[float, ...], b: tuple[float, ...]) -> FigureDiff:
    centres = Centre.of(a), Centre.of(b)
    if min(len(a), len(b)) < LEAST_RUNS:
        return FigureDiff(figure, *centres, None, Verdict.TOO_FEW)
    p = mann_whitney_p(a, b)
    return FigureDiff(figure, *centres, p, _verdict(figure, a, b) if p < SIGNIFICANT else Verdict.SAME)


def _verdict(figure: Figure, a: tuple[float, ...], b: tuple[float, ...]) -> Verdict:
    """Which way it went, where ranks and medians agree on that; with two humps they may not."""
    shift, change = rank_shift(a, b), median(b) - median(a)
    if shift * change <= 0:
        return Verdict.SAME
    return Verdict.BETTER if (change > 0) == figure.higher_is_better else Verdict.WORSE


@dataclass(frozen=True, slots=True)
class Compared:
    """A profile held against another, or against itself in another result."""

    name: str
    a: Side
    b: Side
    figures: tuple[FigureDiff, ...]

    @classmethod
    def of(cls, name: str, a: Side, b: Side) -> Compared:
        """Of two sides' runs."""
        return cls(name, a, b, tuple(compare_runs(a, b)))
