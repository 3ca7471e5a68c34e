"""Throughput over concurrency, where a scenario fires the same load with several. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from loadgen.summary import NS_PER_MS
from rig.columns import aligned
from rig.scenario.judge import Seen
from rig.scenario.loads import LoadOutcome, seen_runs
from rig.scenario.outcome import Outcome, spoken_published

_GAIN: Final = 1.1
"""Throughput under this times the best at a lower concurrency is none gained."""


def curves(outcomes: Sequence[Outcome]) -> list[list[LoadOutcome]]:
    """The loads of one path that differ in how many are in flight, path by path."""
    loads = [outcome for outcome in outcomes if isinstance(outcome, LoadOutcome)]
    closed = [load for load in loads if load.step.concurrency < load.step.n]
    by_path: dict[str, list[LoadOutcome]] = {}
    for load in closed:
        by_path.setdefault(load.step.path, []).append(load)
    return [of_path for of_path in by_path.values() if len(of_path) > 1]


def curve_lines(curve: Sequence[LoadOutcome]) -> Iterator[str]:
    """A row a profile and concurrency, and a sentence a profile: where its curve flattens, and what was published."""
    points_of: dict[str, list[tuple[int, list[Seen]]]] = {}
    for outcome in curve:
        for side in outcome.sides:
            runs = [run for run in seen_runs(side) if run.summary.ok]
            if runs:
                points_of.setdefault(side.instance.spec, []).append((outcome.step.concurrency, runs))
    rows = [["profile", "at a time", "requests/s", "mean_ms", "p50_ms", "p99_ms", "failed"]]
    for spec, points in points_of.items():
        for at_a_time, runs in points:
            times = [f"{median(_times_ms(runs, name)):.1f}" for name in ("mean", "p50", "p99")]
            failed = median(run.summary.failed for run in runs)
            rows.append([spec, str(at_a_time), f"{_rate(runs):.0f}", *times, f"{failed:.0f}"])
    yield from aligned(rows)
    published = {entry.spec: entry.published for entry in curve[0].step.entries}
    for spec, points in points_of.items():
        said = [_flattens([(at_a_time, _rate(runs)) for at_a_time, runs in points])]
        if published[spec].rps or published[spec].note:
            said.append(f"published: {spoken_published(published[spec])}, {published[spec].note}")
        yield f"{spec}: {'; '.join(said)}."


def _flattens(curve: Sequence[tuple[int, float]]) -> str:
    """Up to which concurrency throughput grew by a tenth or more over the best before."""
    knee, best = curve[0]
    for at_a_time, rate in curve[1:]:
        if rate >= best * _GAIN:
            knee, best = at_a_time, rate
    last, final = curve[-1]
    ends = f"{final:,.0f} requests a second at {last:,} at a time"
    if knee == last:
        return f"throughput still grows: {ends}"
    return (
        f"throughput flattens at {knee:,} at a time, {best:,.0f} requests a second: with more at a time each only waits"
        f" longer ({ends})"
    )


def _rate(runs: Sequence[Seen]) -> float:
    return median(run.summary.throughput_rps or 0.0 for run in runs)


def _times_ms(runs: Sequence[Seen], name: str) -> list[float]:
    """A response time of each run in which any request was ok; that is each here."""
    return [getattr(run.summary.times, f"{name}_ns") / NS_PER_MS for run in runs]
