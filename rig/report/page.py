"""Saved runs -> one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

import numpy as np

from loadgen.samples import MISSING
from rig.report import charts, figures, frames, words
from rig.report.figures import Cell, Figure, Table
from rig.report.sides import Side
from rig.report.verdicts import Verdicts, verdicts
from rig.runs.saved import SavedRun

_MEDIANS: Final = ("wall_ms", "p50_ms", "p99_ms", "max_ms", "throughput_rps", "over", "failed")
_EVERY: Final = (
    "requests", "ok", "failed", "wall_ms", "min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms", "mean_ms",
    "over", "throughput_rps", "release_ms", "resent",
)  # fmt: skip
_FIXED: Final = ("cause", "requests", "sentence", "evidence")


@dataclass(frozen=True, slots=True)
class Group:
    """Charts that belong together, under one heading."""

    name: str
    title: str
    words: str
    layout: str
    figures: tuple[Figure, ...]
    dashed: bool = True
    """Whether the lines of the profiles differ in their dashes too."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """All charts of a page."""

    timelines: tuple[tuple[Side, tuple[Figure, ...]], ...]
    groups: tuple[Group, ...]

    @property
    def figures(self) -> Iterator[Figure]:
        """Each of them, in order."""
        for _, of_side in self.timelines:
            yield from of_side
        for group in self.groups:
            yield from group.figures


def draw(sides: Sequence[Side]) -> Drawn:
    """The charts of all profiles; one that has no data is left out."""
    timelines = ((side, tuple(figures.timelines(side, position))) for position, side in enumerate(sides))
    middle = "Of each profile the run whose wall is the median one, the lower of two. Done are ok and failed requests."
    groups = (
        Group(
            "percentiles-and-share",
            "Response times",
            "Ok requests of all runs together. The percentile axis is HdrHistogram's: each step to the right is a tail"
            " ten times thinner.",
            "wide",
            tuple(figures.response_times(sides)),
        ),
        Group("over-time", "Over time", middle, "stack", tuple(figures.over_time(sides))),
        Group(
            "runs",
            "Run by run",
            f"A point a run. {figures.interval_words(sides)}",
            "wide",
            tuple(figures.runs_of_each(sides)),
            dashed=False,
        ),
    )
    return Drawn(
        tuple((side, drawn) for side, drawn in timelines if drawn), tuple(group for group in groups if group.figures)
    )


def page(saved: Sequence[SavedRun], sides: Sequence[Side], drawn: Drawn, bundle: Callable[[], str]) -> str:
    """The HTML; `bundle` gives the charts' JavaScript."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters.update(figure=_figure, json=_json, evidence=_evidence)
    here = files("rig.report")
    held = list(verdicts(saved))
    template = environment.from_string(here.joinpath("page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        version=version("loadrig"),
        title=", ".join(run.result["name"] for run in saved),
        css=here.joinpath("page.css").read_text(encoding="utf-8"),
        js=here.joinpath("page.js").read_text(encoding="utf-8"),
        bundle=bundle(),
        runs=saved,
        sides=sides,
        answer=words.answer(saved, sides),
        further=words.further(saved, sides),
        doubts=words.doubts(saved, sides),
        sections=_sections(drawn, held),
        medians=_medians(sides),
        every=_EVERY,
        verdicts=held,
        timelines=drawn.timelines,
        thinned=_thinned(sides),
        stages=_stages(drawn),
        groups=drawn.groups,
        styles=_styles(sides),
        failures=_failures(sides),
        sheet=list(words.sheet(saved, sides)),
        environments=[(run.result["name"], list(_flat(run.result["environment"]))) for run in saved],
        commands=words.commands(saved),
    )


def _sections(drawn: Drawn, held: Sequence[Verdicts]) -> list[tuple[str, str]]:
    """What the page's own contents list, by anchor."""
    return [
        *([("verdicts", "Verdicts")] if held else []),
        ("figures", "Medians and runs"),
        *([("requests", "Requests")] if drawn.timelines else []),
        *((group.name, group.title) for group in drawn.groups),
        ("findings", "Findings"),
        ("failures", "Failures"),
        ("sheet", "Review sheet"),
        ("environment", "Environment"),
        ("repeat", "Repeat it"),
    ]


def _medians(sides: Sequence[Side]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side in sides:
        medians = [side.median(figure) for figure in _MEDIANS]
        values = [None if middle is None else middle.value for middle in medians]
        rows.append((side.label, len(side.whole_runs), *values))
    return Table(("profile", "runs", *_MEDIANS), tuple(rows))


def _failures(sides: Sequence[Side]) -> Table:
    counts: list[dict[str, int]] = []
    for side in sides:
        of_side: dict[str, int] = {}
        for run in side.profile.runs:
            for label, count in run.data["failures"].items():
                of_side[label] = of_side.get(label, 0) + count
        counts.append(of_side)
    classes = list(dict.fromkeys(label for of_side in counts for label in of_side))
    if not classes:
        return Table((), ())
    rows: list[tuple[Cell, ...]] = [
        (side.label, *(of_side.get(label, 0) for label in classes)) for side, of_side in zip(sides, counts, strict=True)
    ]
    return Table(("profile", *classes), tuple(rows))


def _thinned(sides: Sequence[Side]) -> str:
    """Which requests are not drawn."""
    runs = [samples for side in sides for samples in side.samples.values()]
    never = sum(int(np.count_nonzero(samples.begun == MISSING)) for samples in runs)
    left_out = f" {never:,} requests were never begun, and have no line." if never else ""
    if max(map(len, runs), default=0) <= frames.MOST_LINES:
        return f"Every request that was begun is drawn.{left_out}"
    most = (
        f"Of a run with more than {frames.MOST_LINES:,} requests, so many are drawn, at equal distances in that order."
    )
    return most + left_out


def _stages(drawn: Drawn) -> list[tuple[str, str]]:
    """The stages that are to be seen, with their colours."""
    seen = {stage for _, of_side in drawn.timelines for figure in of_side for stage in figure.stages}
    return [pair for pair in zip(frames.STAGES, charts.STAGE_COLOURS, strict=True) if pair[0] in seen]


def _styles(sides: Sequence[Side]) -> list[tuple[str, str, str]]:
    styles = [charts.style(index) for index in range(len(sides))]
    return [
        (side.label, colour, " ".join(map(str, dashes))) for side, (colour, dashes) in zip(sides, styles, strict=True)
    ]


def _figure(value: float) -> str:
    """A number as a reader wants it: thousands apart, and three digits at least where it is no whole one."""
    if isinstance(value, bool | int) or value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _evidence(finding: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    own = {name: value for name, value in finding.items() if name not in _FIXED}
    yield from _flat({**own, **finding["evidence"]})


def _flat(data: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Each value under its name, a nested one's after a dot."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list):
            yield f"{before}{name}", ", ".join(map(str, value)) or "none"
        else:
            yield f"{before}{name}", "n/a" if value is None else str(value)


def _json(data: Mapping[str, Any]) -> Any:
    """Data within a script element, which no text in it can end."""
    from markupsafe import Markup

    return Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))
