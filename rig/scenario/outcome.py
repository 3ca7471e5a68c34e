"""What every kind of step gives when it has been carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Protocol

from loadgen.explain.words import HTTP, Terms, joined
from loadgen.summary import NS_PER_MS
from rig.scenario.judge import (
    Seen,
    Verdict,
    judge,
    spoken_range,
    spoken_wall,
    telling,
    untrusted_words,
    usual_causes,
    usual_waves,
)
from rig.tasks.cost import Cost
from scenarios.scenario import Entry, Published, Step, ThreadCost
from scenarios.theory import Prediction

NONE: Final = "-"
"""What a row has in place of figures that there are not."""

_ALIKE: Final = (0.75, 1.35)
"""A wall of so many times the published one is called the same; machines differ."""
_ALIKE_LATE: Final = 0.1
"""Of the requests: so many fewer or more are late than in any published run, and it is called the same."""


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

    @property
    def is_predicted(self) -> bool:
        """Whether there is a prediction, to be held or not."""
        return self.predicted != NONE


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
        """A row an entry; of a step that was interrupted, those alone that have a whole run."""

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
        NONE if prediction is None else str(prediction),
        spoken_runs(runs, prediction, terms),
        verdict,
        "; ".join(filter(None, (sentence, compared))),
    )


def spoken_published(published: Published) -> str:
    """`2,088 to 2,209 ms, 200 late`; NONE where there are no figures."""
    parts = [
        spoken_range(published.wall_ms, " ms"),
        spoken_range(published.p50_ms, " ms p50"),
        spoken_range(published.over, " late"),
        spoken_range(published.rps, " a second"),
        f"{_listed(published.create_us)} us each" if published.create_us else "",
        spoken_range(published.address_mb, " MB of address space each"),
    ]
    return ", ".join(filter(None, parts)) or ("see below" if published.note else NONE)


def spoken_runs(runs: Sequence[Seen], prediction: Prediction | None = None, terms: Terms = HTTP) -> str:
    """Medians over the runs, the range of the late, and what was usually found: `2 waves, 2,097 ms, 200 late;
    concurrency-limit`. Of runs that can be trusted, where these are the most of them."""
    measured = telling(runs)
    if not measured:
        return "n/a"
    causes = " and ".join(usual_causes(measured)) or "no cause usual"
    if all(run.summary.requests == run.summary.concurrency for run in measured):
        waves, possible = usual_waves(measured), measured[0].possible_waves
        either = "" if possible is None else f" or {possible:,}"
        shown = "" if waves is None else f"{waves:,}{either} wave{'' if waves == 1 and not either else 's'}"
        late = spoken_range([run.summary.over for run in measured], " late") if terms.networked else ""
        figures = ", ".join(filter(None, (shown, spoken_wall(prediction, measured), late)))
    else:
        rate = median(run.summary.throughput_rps or 0.0 for run in measured)
        times = [run.summary.times for run in measured if run.summary.times is not None]
        p50, p99 = (median(getattr(time, f"{name}_ns") for time in times) / NS_PER_MS for name in ("p50", "p99"))
        figures = f"{rate:,.0f} a second, p50 {p50:,.1f} ms, p99 {p99:,.1f} ms"
    return "; ".join(filter(None, (figures, causes, untrusted_words(runs))))


def cost_row(step: ThreadCost, entry: Entry, costs: Sequence[Cost]) -> Row:
    """The row of a kind, by what one of it costs at each of the step's counts."""
    published = entry.published
    here = {cost.count: cost.create_us for cost in costs}
    told = []
    if published.create_us and costs:
        counts = [count for count, _ in zip(step.counts, published.create_us, strict=False) if count in here]
        there, ours = published.create_us[: len(counts)], [here[count] for count in counts]
        same = _ALIKE[0] <= median(ours) / median(there) <= _ALIKE[1]
        quicker = "quicker" if median(ours) < median(there) else "slower"
        alike = "as published" if same else f"{quicker} than published"
        told.append(
            f"{alike}: {_listed(there)} us there, {_listed(ours)} us here, to make one of"
            f" {joined([f'{count:,}' for count in counts])}"
        )
    if published.address_mb and costs:
        there_mb = spoken_range(published.address_mb, " MB")
        most = max(costs, key=lambda cost: cost.count)
        told.append(f"{there_mb} of address space each there, {most.address_kb / 1024:.1f} MB here")
    told.append(f"published: {published.note}" if published.note else "")
    measured = f"{_listed([*here.values()])} us each" if costs else "n/a"
    sentence = "; ".join(filter(None, told)) or "nothing was predicted or published"
    return Row(step.title, entry.spec, spoken_published(published), NONE, measured, Verdict.UNPREDICTED, sentence)


def _listed(values: Sequence[float]) -> str:
    return joined([f"{value:,.{0 if value >= 10 else 1}f}" for value in values])


def _compared(published: Published, runs: Sequence[Seen]) -> str:
    """How the outcome compares with the published one: alike, or not, and by which figures."""
    note = f"published: {published.note}" if published.note else ""
    measured = telling(runs)
    if not all(run.trusted for run in measured):
        return note
    alike: dict[str, bool] = {}
    figures = []
    if measured and published.wall_ms:
        there, here = median(published.wall_ms), median(run.wall_ms for run in measured)
        alike["wall"] = _ALIKE[0] <= here / there <= _ALIKE[1]
        figures.append(f"median wall {there:,.0f} ms there, {here:,.0f} ms here")
    if measured and published.over:
        late = [run.summary.over for run in measured]
        slack = _ALIKE_LATE * measured[0].summary.requests
        alike["late"] = min(published.over) - slack <= median(late) <= max(published.over) + slack
        figures.append(f"{spoken_range(published.over, ' late')} there, {spoken_range(late, '')} here")
    compared = f"{_likeness(alike)}: {', '.join(figures)}" if figures else ""
    return "; ".join(filter(None, (compared, note)))


def _likeness(alike: Mapping[str, bool]) -> str:
    if all(alike.values()):
        return "as published"
    if not any(alike.values()):
        return "other than published"
    same, other = sorted(alike, key=lambda figure: not alike[figure])
    return f"{same} as published, {other} not"
