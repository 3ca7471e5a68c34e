"""Numbers -> Vega-Lite, as plain data. A chart has no title and no width: the page and the files give them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import altair as alt
import numpy as np

from rig.report.frames import STAGES, Curve, Timeline
from rig.report.median import Median

Spec = dict[str, Any]

STAGE_COLOURS: Final = ("#9a9a9a", "#e69f00", "#56b4e9", "#0072b2", "#d81b60")
"""Of STAGES. Apart from each other for colour-blind eyes too, on white and on black. (Okabe and Ito, 2008.)"""

COLOURS: Final = ("#3d8bd4", "#d55e00", "#00a07a", "#cc79a7", "#b8860b", "#8c6bb1", "#7f7f7f", "#17becf")
DASHES: Final = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 1), (1, 3), (10, 2), (3, 3, 1, 3))
"""Of the profiles, in order: a line is known by either."""

_HEIGHT: Final = 260
_APART: Final = 4
"""Points: lines less high overlap, for what is between them would only shimmer."""
_PANEL_HEIGHT: Final = 110
_ROW_HEIGHT: Final = 34
_TIME: Final = "time since the release, ms"
_QUANTILES: Final = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)

Interpolation = Literal["linear", "step-after", "step-before"]


def style(index: int) -> tuple[str, tuple[int, ...]]:
    """Colour and dashes of the profile at this position."""
    return COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]


def timeline(rows: Timeline, span_ms: float, description: str) -> Spec:
    """One line a request, its stages by colour.

    Each colour is a single broken line, not a mark a request: thousands of them stay light in a page.
    """
    seen = np.unique(rows.stage).tolist()
    stages = [STAGES[stage] for stage in seen]
    colour = alt.Scale(domain=stages, range=[STAGE_COLOURS[stage] for stage in seen])
    height = _HEIGHT / max(rows.drawn, 1)
    thickness = min(max(height * (0.85 if height >= _APART else 1.6), 0.5), 12)
    data = _stretches(rows)
    chart = _base(data, {"x": "number", "y": "number"}, description).mark_line(
        strokeWidth=thickness,
        strokeCap="butt",
        order=False,  # as the rows stand, not by x
    )
    return _plain(
        chart.encode(
            x=_time(span_ms),
            y=alt.Y("y:Q", title="requests", scale=alt.Scale(domain=[rows.requests, 0], nice=False), axis=_axis()),
            color=alt.Color("stage:N", scale=colour, title=None, sort=stages),
        ).properties(height=_HEIGHT)
    )


def percentiles(curves: Mapping[str, Curve], description: str) -> Spec:
    """Response time over percentile on HdrHistogram's axis, a line a profile."""
    furthest = max((float(curve.x.max()) for curve in curves.values() if len(curve.x)), default=10.0)
    ticks = [1 / (1 - quantile) for quantile in _QUANTILES if 1 / (1 - quantile) <= max(furthest, 10) * 1.001]
    axis = alt.Axis(
        values=ticks, labelExpr="format((1 - 1 / datum.value) * 100, '.6~g') + ' %'", labelOverlap="greedy", grid=True
    )
    return _lines(
        curves,
        description,
        x=alt.X("x:Q", title="percentile", scale=alt.Scale(type="log", nice=False), axis=axis),
        y=alt.Y("y:Q", title="response time, ms", axis=_axis()),
        interpolate="step-after",
    )


def cumulative(curves: Mapping[str, Curve], description: str) -> Spec:
    """The share of requests answered by then, a line a profile."""
    return _lines(
        curves,
        description,
        x=alt.X("x:Q", title="response time, ms", scale=alt.Scale(zero=True), axis=alt.Axis(labelOverlap=True)),
        y=alt.Y("y:Q", title="share of requests", scale=alt.Scale(domain=[0, 1]), axis=_axis(format="%")),
        interpolate="step-after",
    )


def over_time(
    curves: Mapping[str, Curve], span_ms: float, title: str, description: str, *, interpolate: Interpolation
) -> Spec:
    """One figure over time, a line a profile, on the axis that all such panels share."""
    y = alt.Y("y:Q", title=title, scale=alt.Scale(zero=True), axis=_axis(tickCount=4))
    return _lines(curves, description, x=_time(span_ms), y=y, interpolate=interpolate, height=_PANEL_HEIGHT)


def runs(
    values: Mapping[str, Sequence[float]], medians: Mapping[str, Median | None], title: str, description: str
) -> Spec:
    """A point a run, a row a profile; its median as a stroke, the median's interval as a bar where there is one."""
    labels = list(values)
    y = alt.Y("profile:N", sort=labels, title=None, axis=alt.Axis(labels=False, ticks=False, domain=False))
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(labelOverlap=True))
    colour = _colour(labels)
    each = _csv(("profile", "value"), ((label, value) for label in labels for value in values[label]))
    middles = _csv(("profile", "value"), ((label, middle.value) for label, middle in medians.items() if middle))
    intervals = [(label, *middle.interval) for label, middle in medians.items() if middle and middle.interval]
    layers = [
        alt.Chart(_inline(each, {"value": "number"}))
        .mark_point(filled=True, size=55, opacity=0.55)
        .encode(x=x, y=y, color=colour),
        alt.Chart(_inline(middles, {"value": "number"}))
        .mark_tick(thickness=3, size=22, aria=False)
        .encode(x=x, y=y, color=colour),
    ]
    if intervals:
        bars = alt.Chart(_inline(_csv(("profile", "value", "high"), intervals), {"value": "number", "high": "number"}))
        layers.insert(0, bars.mark_bar(height=14, opacity=0.3, aria=False).encode(x=x, x2="high:Q", y=y, color=colour))
    return _plain(alt.layer(*layers).properties(height=_ROW_HEIGHT * len(labels), description=description))


def _lines(
    curves: Mapping[str, Curve],
    description: str,
    *,
    x: alt.X,
    y: alt.Y,
    interpolate: Interpolation,
    height: int = _HEIGHT,
) -> Spec:
    labels = list(curves)
    rows = (
        (_short(a), _short(b), label) for label, curve in curves.items() for a, b in zip(curve.x, curve.y, strict=True)
    )
    data = _csv(("x", "y", "profile"), rows)
    dashes = alt.Scale(domain=labels, range=[list(style(index)[1]) for index in range(len(labels))])
    chart = _base(data, {"x": "number", "y": "number"}, description).mark_line(
        interpolate=interpolate, strokeWidth=2, order=False
    )
    return _plain(
        chart.encode(
            x=x,
            y=y,
            color=_colour(labels),
            strokeDash=alt.StrokeDash("profile:N", scale=dashes, title=None, sort=labels),
        ).properties(height=height)
    )


def _stretches(rows: Timeline) -> str:
    """CSV in which each stage of each request is two points and a gap behind them."""
    lines = ["x,y,stage"]
    middle = rows.row + 0.5
    columns = (rows.stage.tolist(), middle.tolist(), rows.begin_ms.tolist(), rows.end_ms.tolist())
    for stage, y, begin, end in zip(*columns, strict=True):
        word = STAGES[stage]
        lines += (f"{begin:.2f},{y:.1f},{word}", f"{end:.2f},{y:.1f},{word}", f",,{word}")
    return "\n".join(lines)


def _time(span_ms: float) -> alt.X:
    return alt.X("x:Q", title=_TIME, scale=alt.Scale(domain=[0, span_ms], nice=False), axis=alt.Axis(labelOverlap=True))


def _axis(**more: Any) -> alt.Axis:
    """A y axis as wide as any other: the panels' time axes then stand below each other."""
    return alt.Axis(minExtent=48, maxExtent=48, **more)


def _colour(labels: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=list(labels), range=[style(index)[0] for index in range(len(labels))])
    return alt.Color("profile:N", scale=scale, title=None, sort=list(labels))


def _base(data: str, parse: Mapping[str, str], description: str) -> alt.Chart:
    return alt.Chart(_inline(data, parse), description=description)


def _inline(data: str, parse: Mapping[str, str]) -> alt.InlineData:
    return alt.InlineData(values=data, format=alt.CsvDataFormat(type="csv", parse=dict(parse)))


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return file.getvalue()


def _short(value: float | np.float64) -> str:
    """Six digits: finer than any screen."""
    return f"{value:.6g}"


def _plain(chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> Spec:
    """As Vega-Lite has it, for any place: without the defaults that Altair adds."""
    spec: Spec = chart.to_dict(validate=False)  # takes most of the time; what is drawn here is fixed, and tested
    spec.pop("config", None)
    spec["width"] = "container"
    return spec
