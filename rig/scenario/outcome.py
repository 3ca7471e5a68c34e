"""What every kind of step gives when it has been carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Protocol

from loadgen.explain.words import HTTP, Terms
from loadgen.summary import NS_PER_MS
from rig.scenario.judge import Seen, Verdict, judge, usual_causes, usual_waves
from scenarios.scenario import Entry, Published, Step
from scenarios.theory import Prediction

_ALIKE: Final = (0.75, 1.35)
"""A wall of so many times the published one is called the same; machines differ."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the closing table."""

    step: str
    spec: str
    published: str
    predicted: str
    measured: str
    verdict: Verdict
    sentence: str
    """Why the verdict, and how the outcome compares with the published one."""


class Outcome(Protocol):
    """A step as far as it was carried out."""

    @property
    def step(self) -> Step:
        """What was asked for."""

    @property
    def interrupted(self) -> bool:
        """Whether that was not all of it."""

    @property
    def measured(self) -> bool:
        """Whether anything was answered."""

    def lines(self, *, quiet: bool) -> Iterator[str]:
        """What is printed when the step ends."""

    def rows(self) -> Iterator[Row]:
        """A row an entry."""

    def data(self) -> dict[str, Any]:
        """The step's part of the JSON object, without its rows."""


def row_of(step: Step, entry: Entry, prediction: Prediction | None, runs: Sequence[Seen], terms: Terms = HTTP) -> Row:
    """The row of an entry that whole runs were measured of."""
    verdict, sentence = judge(prediction, runs, terms)
    compared = _compared(entry.published, runs)
    return Row(
        step.title,
        entry.spec,
        spoken_published(entry.published),
        "-" if prediction is None else str(prediction),
        spoken_runs(runs),
        verdict,
        "; ".join(filter(None, (sentence, compared))),
    )


def spoken_published(published: Published) -> str:
    """`2,088 to 2,209 ms, 200 late`; `-` where there are no figures."""
    parts = [
        _range(published.wall_ms, " ms"),
        _range(published.p50_ms, " ms p50"),
        _range(published.over, " late"),
        _range(published.rps, " a second"),
    ]
    return ", ".join(filter(None, parts)) or ("see below" if published.note else "-")


def spoken_runs(runs: Sequence[Seen]) -> str:
    """Medians over the runs, and what was usually found: `2 waves, 2,097 ms, 200 late; concurrency-limit`."""
    measured = [run for run in runs if run.summary.ok]
    if not measured:
        return "n/a"
    causes = " and ".join(usual_causes(measured)) or "no cause usual"
    if all(run.summary.requests == run.summary.concurrency for run in measured):
        waves, possible = usual_waves(measured), measured[0].possible_waves
        either = "" if possible is None else f" or {possible:,}"
        shown = "" if waves is None else f"{waves:,}{either} wave{'' if waves == 1 and not either else 's'}, "
        late = median(run.summary.over for run in measured)
        return f"{shown}{median(run.wall_ms for run in measured):,.0f} ms, {late:,.0f} late; {causes}"
    rate = median(run.summary.throughput_rps or 0.0 for run in measured)
    times = [run.summary.times for run in measured if run.summary.times is not None]
    p50, p99 = (median(getattr(time, f"{name}_ns") for time in times) / NS_PER_MS for name in ("p50", "p99"))
    return f"{rate:,.0f} a second, p50 {p50:,.1f} ms, p99 {p99:,.1f} ms; {causes}"


def _compared(published: Published, runs: Sequence[Seen]) -> str:
    """How the outcome compares with the published one: alike, or not, and by which figures."""
    measured = [run for run in runs if run.summary.ok]
    parts = []
    if measured and published.wall_ms:
        there, here = median(published.wall_ms), median(run.wall_ms for run in measured)
        alike = "as" if _ALIKE[0] <= here / there <= _ALIKE[1] else "other than"
        parts.append(f"{alike} published: median wall {there:,.0f} ms there, {here:,.0f} ms here")
    if measured and published.over:
        there, here = median(published.over), median(run.summary.over for run in measured)
        parts.append(f"{there:,.0f} late there, {here:,.0f} here")
    return "; ".join(filter(None, (", ".join(parts), published.note and f"published: {published.note}")))


def _range(values: Sequence[float], unit: str) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,.0f}{unit}" if low == high else f"{low:,.0f} to {high:,.0f}{unit}"
