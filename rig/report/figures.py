"""The charts of a report, each with its words and the table behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints, Samples
from rig.diff.statistics import LEAST_FOR_INTERVAL
from rig.report import charts, frames
from rig.report.frames import Curve
from rig.report.median import Median
from rig.report.sides import Side
from rig.runs.saved import SavedRunOfProfile

Cell = str | float | None

_NS_PER_MS: Final = 1e6
_ROWS: Final = 21
"""In a table behind a chart: every twentieth part."""
_FEW: Final = 40
"""Requests of a run that are listed one by one."""
_QUANTILES: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
_FIGURES: Final = {
    "wall_ms": "wall, ms",
    "p50_ms": "p50, ms",
    "p99_ms": "p99, ms",
    "throughput_rps": "ok requests a second",
}
_MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Table:
    """What a chart shows, in figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart."""

    name: str
    """Its own on the page, and that of its file."""
    title: str
    description: str
    """Said where it cannot be seen."""
    spec: charts.Spec
    table: Table
    stages: tuple[str, ...] = ()
    """The stages of requests that it shows."""
    place: str = ""
    """The title where it stands below its profile's name; else empty."""

    @property
    def heading(self) -> str:
        """The title on the page."""
        return self.place or self.title


def timelines(side: Side, position: int) -> Iterator[Figure]:
    """Each run of a profile as its requests went, all on the time axis of the longest."""
    shown = [(number, _ordered(side, samples)) for number, samples in side.samples.items()]
    drawings = [(number, ordered, frames.timeline(ordered)) for number, ordered in shown if len(ordered)]
    span_ms = max((rows.span_ms for _, _, rows in drawings), default=0.0)
    for number, ordered, rows in drawings:
        title = f"{side.label}, run {number}"
        description = f"{title}: each request from begun to done, coloured by stage. {_stage_words(ordered)}"
        spec = charts.timeline(rows, span_ms, description)
        yield Figure(
            f"requests-{position + 1}-{number}",
            title,
            description,
            spec,
            _requests_table(ordered),
            stages=tuple(frames.STAGES[stage] for stage in np.unique(rows.stage)),
            place=f"Run {number}",
        )


def response_times(sides: Sequence[Side]) -> Iterator[Figure]:
    """Percentiles and the cumulative curve, over all ok requests of each profile's whole runs."""
    times = {side.label: frames.response_ms(_samples(side)) for side in sides}
    known = {label: values for label, values in times.items() if len(values)}
    if not known:
        return
    rows: list[tuple[Cell, ...]] = []
    for quantile in _QUANTILES:
        at = [float(values[min(len(values) - 1, int(quantile * len(values)))]) for values in known.values()]
        rows.append((f"{quantile:.1%}", *at))
    table = Table(("percentile", *(f"{label}, ms" for label in known)), tuple(rows))
    middles = "; ".join(f"{label} p50 {values[len(values) // 2]:,.0f} ms" for label, values in known.items())
    description = f"Response time by percentile: {middles}."
    curves = {label: frames.percentiles(values) for label, values in known.items()}
    yield Figure("percentiles", "By percentile", description, charts.percentiles(curves, description), table)
    description = f"Share of requests answered by then: {middles}."
    curves = {label: frames.cumulative(values) for label, values in known.items()}
    yield Figure("cumulative", "Cumulative", description, charts.cumulative(curves, description), table)


def over_time(sides: Sequence[Side]) -> Iterator[Figure]:
    """Panels on one time axis: of each profile the run whose wall is the median."""
    middle = {side.label: (side, run) for side in sides if (run := side.middle_run) is not None}
    samples = {label: side.samples[run.number] for label, (side, run) in middle.items() if run.number in side.samples}
    longest_ns = max((int(rows.done.max()) for rows in samples.values() if len(rows)), default=0)
    panels: list[tuple[str, str, dict[str, Curve], charts.Interpolation]] = [
        ("in-flight", "in flight", {label: frames.in_flight(rows) for label, rows in samples.items()}, "step-after"),
        (
            "completions",
            "done a second",
            {label: frames.completions(rows, longest_ns) for label, rows in samples.items()},
            "step-after",
        ),
    ]
    for name, title, column, scale in _RESOURCES:
        curves = {label: _resource(run, column, scale) for label, (_, run) in middle.items()}
        if name == "pauses":  # each is since the look before; where none was, there is nothing to see
            if any(curve.y.any() for curve in curves.values()):
                panels.append((name, title, curves, "step-before"))
        else:
            panels.append((name, title, curves, "linear"))
    ends = [float(curve.x[-1]) for _, _, curves, _ in panels[:2] for curve in curves.values() if len(curve.x)]
    span_ms = max(ends, default=0.0)
    for name, title, curves, interpolate in panels:
        known = {label: curve for label, curve in curves.items() if len(curve.x)}
        if not known or not span_ms:
            continue
        most = "; ".join(f"{label} at most {curve.y.max():,.0f}" for label, curve in known.items())
        description = f"{title[0].upper()}{title[1:]} over time: {most}."
        spec = charts.over_time(known, span_ms, title, description, interpolate=interpolate)
        yield Figure(name, title[0].upper() + title[1:], description, spec, _time_table(known, span_ms))


def runs_of_each(sides: Sequence[Side]) -> Iterator[Figure]:
    """Each run's figure as a point, with the median over the whole runs and its interval."""
    for figure, title in _FIGURES.items():
        values = {side.label: side.values(figure) for side in sides}
        medians = {side.label: side.median(figure) for side in sides}
        if not any(values.values()):
            continue
        table = Table(("profile", "median", "interval from", "to", "each run"), tuple(_median_rows(values, medians)))
        said = "; ".join(f"{label} median {middle.value:,.0f}" for label, middle in medians.items() if middle)
        description = f"{title} of each run: {said}."
        spec = charts.runs(values, medians, title, description)
        yield Figure(f"runs-{figure.partition('_')[0]}", title[0].upper() + title[1:], description, spec, table)


def _median_rows(
    values: Mapping[str, Sequence[float]], medians: Mapping[str, Median | None]
) -> Iterator[tuple[Cell, ...]]:
    for label, middle in medians.items():
        each = ", ".join(f"{value:,.1f}" for value in values[label])
        if middle is None:
            yield label, None, None, None, each
        else:
            low, high = middle.interval or (None, None)
            yield label, middle.value, low, high, each


def interval_words(sides: Sequence[Side]) -> str:
    """What the bars on the medians are, or why there are none."""
    fewest = min((len(side.whole_runs) for side in sides), default=0)
    if fewest >= LEAST_FOR_INTERVAL:
        return "Stroke: the median. Bar: its 95 % interval, by order statistics."
    return (
        f"Stroke: the median. A 95 % interval of a median needs {LEAST_FOR_INTERVAL} runs or more; there are {fewest}."
    )


_RESOURCES: Final = (
    ("cpu", "server CPU, %", "cpu_percent", 1.0),
    ("memory", "server memory, MiB", "rss_bytes", 1 / _MIB),
    ("threads", "server threads", "threads", 1.0),
    ("queue", "accept queue", "queue", 1.0),
    ("pauses", "garbage collection, ms", "gc_pause_ms", 1.0),
)


def _resource(run: SavedRunOfProfile, column: str, scale: float) -> Curve:
    known = [
        (int(row["at_ns"]), float(row[column])) for row in run.resources if row["side"] == "server" and row.get(column)
    ]
    known = [point for point in known if point[0] >= 0]
    at, value = (np.array([point[part] for point in known], dtype=np.float64) for part in (0, 1))
    return Curve(at / _NS_PER_MS, value * scale)


def _ordered(side: Side, samples: Samples) -> Samples:
    return frames.in_order(samples, burst=side.profile.plan["kind"] == "burst")


def _samples(side: Side) -> list[Samples]:
    return [side.samples[run.number] for run in side.whole_runs if run.number in side.samples]


def _stage_words(ordered: Samples) -> str:
    """How the requests fared, for who cannot see it."""
    fresh = ordered.connected != MISSING
    connect_ms = (ordered.connected - ordered.begun)[fresh] / _NS_PER_MS
    response_ms = (ordered.done - ordered.due) / _NS_PER_MS
    words = [f"{len(ordered):,} requests, done after {response_ms.min():,.0f} to {response_ms.max():,.0f} ms"]
    if len(connect_ms):
        words.append(f"connected after {connect_ms.min():,.0f} to {connect_ms.max():,.0f} ms")
    if failed := int(np.count_nonzero(~ordered.ok)):
        words.append(f"{failed:,} failed")
    return "; ".join(words) + "."


def _requests_table(ordered: Samples) -> Table:
    count = len(ordered)
    rows = frames.spread(count, count if count <= _FEW else _ROWS)
    some = ordered.of(rows)
    times = [_ms_cells(getattr(some, stage)) for stage in ("due", "begun", "connected", "first_byte", "done")]
    outcomes = [Outcome(int(number)).label for number in some.outcome]
    return Table(
        ("in order", "due, ms", "begun, ms", "connected, ms", "first byte, ms", "done, ms", "outcome"),
        tuple(zip((str(row + 1) for row in rows), *times, outcomes, strict=True)),
    )


def _ms_cells(column: Ints) -> list[float | None]:
    return [None if value == MISSING else value / _NS_PER_MS for value in column.tolist()]


def _time_table(curves: Mapping[str, Curve], span_ms: float) -> Table:
    """The value at each twentieth of the time: the last one known by then."""
    rows = []
    for at in np.linspace(0, span_ms, _ROWS):
        last = [int(np.searchsorted(curve.x, at, side="right")) - 1 for curve in curves.values()]
        values = [float(curve.y[i]) if i >= 0 else None for i, curve in zip(last, curves.values(), strict=True)]
        rows.append((f"{at:,.0f}", *values))
    return Table(("ms", *curves), tuple(rows))
