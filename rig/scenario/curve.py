"""Throughput over concurrency, where a scenario fires the same load with several. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from loadgen.explain.words import counted, joined
from loadgen.summary import NS_PER_MS
from rig.columns import aligned
from rig.scenario.judge import Seen, telling
from rig.scenario.loads import LoadOutcome, seen_runs
from rig.scenario.outcome import Outcome, spoken_published
from scenarios.scenario import Load

_GAIN: Final = 1.1
"""Throughputs that differ by less than this factor are alike."""
_FEWEST: Final = 3


def curves(outcomes: Sequence[Outcome]) -> list[list[LoadOutcome]]:
    """The loads that differ in how many are in flight, and in nothing else but their entries."""
    loads = [outcome for outcome in outcomes if isinstance(outcome, LoadOutcome)]
    closed = [load for load in loads if load.step.concurrency < load.step.n]
    alike: dict[Load, list[LoadOutcome]] = {}
    for load in closed:
        alike.setdefault(replace(load.step, concurrency=0, entries=()), []).append(load)
    return [group for group in alike.values() if len({load.step.concurrency for load in group}) > 1]


def curve_lines(curve: Sequence[LoadOutcome]) -> Iterator[str]:
    """A row a profile and concurrency, and a sentence a profile: where its curve flattens, and what was published."""
    levels_of: dict[str, list[_Level]] = {}
    for outcome in sorted(curve, key=lambda outcome: outcome.step.concurrency):
        for side in outcome.sides:
            runs = [run for run in seen_runs(side) if run.summary.ok]
            if runs:
                levels_of.setdefault(side.instance.spec, []).append(_Level(outcome.step.concurrency, runs))
    rows = [["profile", "at a time", "requests/s", "mean_ms", "p50_ms", "p99_ms", "failed", "trusted"]]
    rows += [[spec, *level.cells()] for spec, levels in levels_of.items() for level in levels]
    if levels_of:
        yield from aligned(rows)
    published = {entry.spec: entry.published for outcome in curve for entry in outcome.step.entries}
    for spec, levels in levels_of.items():
        said = [flattening([(level.at_a_time, level.rate_rps) for level in levels if level.trusted])]
        untrusted = [f"{level.at_a_time:,}" for level in levels if not level.trusted]
        if untrusted:
            said.append(f"left out, for it is not to be trusted: what was measured with {joined(untrusted)} at a time")
        if published[spec].rps or published[spec].note:
            said.append(f"published: {spoken_published(published[spec])}, {published[spec].note}")
        yield f"{spec}: {'; '.join(said)}."


@dataclass(frozen=True, slots=True)
class _Level:
    """What was measured of one profile with so many at a time."""

    at_a_time: int
    runs: list[Seen]
    """Those answered."""

    @property
    def trusted(self) -> bool:
        return all(run.trusted for run in telling(self.runs))

    @property
    def rate_rps(self) -> float:
        return median(run.summary.throughput_rps or 0.0 for run in telling(self.runs))

    def cells(self) -> list[str]:
        runs = telling(self.runs)
        times = [f"{median(_times_ms(runs, name)):.1f}" for name in ("mean", "p50", "p99")]
        failed = median(run.summary.failed for run in runs)
        trusted = sum(run.trusted for run in self.runs)
        return [
            str(self.at_a_time),
            f"{self.rate_rps:.0f}",
            *times,
            f"{failed:.0f}",
            f"{'no: ' if not self.trusted else ''}{trusted} of {counted(len(self.runs), 'run')}",
        ]


def flattening(curve: Sequence[tuple[int, float]]) -> str:
    """Between which levels throughput reaches its most, and beyond which it falls; or why that is not to be told.

    `curve` is (how many at a time, requests a second), upwards. What is told lies between two levels and follows no
    model: overflowing accept queues make throughput fall in a way that no scalability curve has.
    """
    if len(curve) < _FEWEST:
        return (
            f"where throughput flattens is not told: {counted(len(curve), 'level')} can be trusted, {_FEWEST} would do"
        )
    levels, rates = [level for level, _ in curve], [rate for _, rate in curve]
    most = max(rates)
    flat = [index for index, rate in enumerate(rates) if rate * _GAIN >= most]
    first, last = flat[0], flat[-1]
    rising = rates[: first + 1]
    if any(after * _GAIN < before for before, after in pairwise(rising)):
        return (
            f"throughput goes up and down over these levels, {min(rates):,.0f} to {most:,.0f} requests a second: where"
            " it flattens is not to be told"
        )
    ends = f"{rates[-1]:,.0f} requests a second at {levels[-1]:,}"
    if first == len(levels) - 1:
        return f"throughput is still rising at {levels[-1]:,} at a time, the highest level: {ends}"
    where = (
        f"throughput is at its most with {levels[0]:,} at a time, the lowest level, so that where it flattens is not"
        f" known: {rates[0]:,.0f} requests a second there"
        if first == 0
        else f"throughput flattens between {levels[first - 1]:,} and {levels[first]:,} at a time, at about"
        f" {most:,.0f} requests a second"
    )
    if last < len(levels) - 1:
        return f"{where}; beyond {levels[last]:,} it falls: {ends}"
    return f"{where}; with more at a time each only waits longer: {ends}"


def _times_ms(runs: Sequence[Seen], name: str) -> list[float]:
    """A response time of each run in which any request was ok; that is each here."""
    return [getattr(run.summary.times, f"{name}_ns") / NS_PER_MS for run in runs]
