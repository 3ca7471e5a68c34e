"""Samples -> the numbers that a chart draws, thinned to what can be seen. Times in ms from the run's release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loadgen.samples import MISSING, Ints, Samples

Floats = NDArray[np.float64]

MOST_LINES: Final = 1000
"""Requests drawn of one run: more than a screen has rows of pixels for it."""

STAGES: Final = ("not yet sent", "connect", "waiting", "answering", "failed")
"""`failed` is where the request ended, not a stage: a mark behind the last one."""

_NS_PER_MS: Final = 1e6
_FINEST: Final = 2000
"""A stage shorter than one part in so many of the time axis is not seen."""
_MARK: Final = 150
"""The mark of a failed request is one part in so many long."""
_POINTS: Final = 400
_BARS: Final = 80


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The stages of a run's requests. Each row is one stage of one request; all columns have shape (rows,)."""

    stage: NDArray[np.int8]
    """Positions in STAGES."""
    row: Ints
    """Where the request stands in the order."""
    begin_ms: Floats
    end_ms: Floats
    span_ms: float
    """Until the last request was done."""
    drawn: int
    """Requests of which there are rows."""
    requests: int
    """Requests that were begun."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Points of a line, in order; both columns have shape (points,)."""

    x: Floats
    y: Floats


def in_order(samples: Samples, *, burst: bool) -> Samples:
    """The requests that were begun, as a timeline stacks them: those of a burst as they were done, others as begun."""
    begun = samples.of(samples.begun != MISSING)
    return begun.of(np.argsort(begun.done if burst else begun.begun, kind="stable"))


def timeline(ordered: Samples) -> Timeline:
    """The stages of requests as `in_order` gives them: of all, or of MOST_LINES at equal distances in that order."""
    requests = len(ordered)
    rows = spread(requests, MOST_LINES)
    drawn = ordered.of(rows)
    connected = np.where(drawn.connected == MISSING, drawn.begun, drawn.connected)
    # On a fresh connection that never came about, all of it was connecting.
    connected = np.where((drawn.connected == MISSING) & (drawn.reused == 0), drawn.done, connected)
    answered = np.where(drawn.first_byte == MISSING, drawn.done, drawn.first_byte)
    edges = np.stack([drawn.due, drawn.begun, connected, np.maximum(answered, connected), drawn.done]) / _NS_PER_MS
    span = float(ordered.done.max() / _NS_PER_MS) if requests else 0.0
    begin, end = edges[:-1], edges[1:]
    stage, row = np.nonzero((end - begin > span / _FINEST) | _longest(end - begin))
    failed = np.flatnonzero(~drawn.ok)
    mark = np.full(len(failed), span / _MARK)
    return Timeline(
        stage=np.concatenate([stage, np.full(len(failed), STAGES.index("failed"))]).astype(np.int8),
        row=rows[np.concatenate([row, failed])],
        begin_ms=np.concatenate([begin[stage, row], edges[-1][failed]]),
        end_ms=np.concatenate([end[stage, row], edges[-1][failed] + mark]),
        span_ms=span,
        drawn=len(rows),
        requests=requests,
    )


def spread(count: int, most: int) -> Ints:
    """Positions among so many, first and last with them: all, or `most` at equal distances."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def response_ms(runs: Sequence[Samples]) -> Floats:
    """The response times of all ok requests of several runs, sorted; shape (requests,)."""
    times = [samples.response_ns[samples.ok] for samples in runs]
    return np.sort(np.concatenate(times)) / _NS_PER_MS if times else np.empty(0)


def percentiles(sorted_ms: Floats) -> Curve:
    """Percentile q as y over 1 / (1 - q) as x, which spreads the tail; dense where it is steep on that axis.

    q = i / n belongs to the value at index i of n: x = n / (n - i). (HdrHistogram's plot of percentiles.)
    """
    n = len(sorted_ms)
    if not n:
        return Curve(np.empty(0), np.empty(0))
    behind = np.unique(np.geomspace(1, n, _POINTS).round().astype(np.int64))[::-1]
    body = n - spread(n, _POINTS)
    behind = np.unique(np.concatenate([behind, body]))[::-1]
    return Curve(n / behind, sorted_ms[n - behind])


def cumulative(sorted_ms: Floats) -> Curve:
    """The share of requests, as y, that had been answered after x ms."""
    n = len(sorted_ms)
    at = spread(n, _POINTS)
    return Curve(sorted_ms[at], (at + 1) / n)


def in_flight(samples: Samples) -> Curve:
    """Requests begun and not done, over time: the most in each of some hundred equal stretches."""
    begun = samples.of(samples.begun != MISSING)
    if not len(begun):
        return Curve(np.empty(0), np.empty(0))
    times = np.concatenate([begun.begun, begun.done])
    steps = np.concatenate([np.ones(len(begun)), -np.ones(len(begun))])
    order = np.lexsort((-steps, times))
    times, count = times[order], np.cumsum(steps[order])
    edges = np.linspace(0, times[-1], _POINTS + 1)
    first = np.searchsorted(times, edges)
    before = np.concatenate([[0.0], count])[first]
    most = [max(before[i], *count[first[i] : first[i + 1]].max(initial=0.0, keepdims=True)) for i in range(_POINTS)]
    return Curve(edges / _NS_PER_MS, np.array([*most, 0.0]))


def completions(samples: Samples, longest_ns: int) -> Curve:
    """Requests done a second, over time: each stretch's rate at its beginning, the last one's end with 0.

    How long a stretch is goes by the longest run that stands beside it: rates over unequal ones do not compare.
    """
    done = samples.done[samples.done != MISSING] / _NS_PER_MS
    if not len(done):
        return Curve(np.empty(0), np.empty(0))
    width = _round_up(longest_ns / _NS_PER_MS / _BARS)
    edges = np.arange(0, done.max() + 2 * width, width)
    counts, _ = np.histogram(done, edges)
    return Curve(edges[: len(counts) + 1], np.append(counts, 0) * 1000 / width)


def _longest(lengths: Floats) -> NDArray[np.bool_]:
    """The longest stage of each request, which is drawn however short; shape as given, (stages, requests)."""
    longest: NDArray[np.bool_] = np.arange(len(lengths))[:, None] == lengths.argmax(axis=0)
    return longest


def _round_up(width: float) -> float:
    """The next of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(max(width, 1e-3)))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= width))
