"""Cause `stall`: everything in flight stood still over the same stretch of the clock.

Its mark: a pause in completions, across connections, after which many are completed together that took longer than the
others, by up to the length of the pause. A wave is not a stall: its requests waited for a place, then took as long as
all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from loadgen.explain.evidence import Mask, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.words import counted, joined, spoken_ms
from loadgen.samples import MISSING, Ints

_LEAST_NS: Final = 15_000_000
_LEAST_PART: Final = 0.25
"""Of the service time; shorter stand-stills are in its own spread."""
_DEVIATIONS: Final = 6.0
_FEWEST: Final = 3
_CLUMP: Final = 0.35
"""After a pause, the requests that it held come within this part of its length."""
_MOST_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class Stretch:
    """One stand-still, in ns from the release, and the rows that it held."""

    begin_ns: int
    end_ns: int
    rows: Ints


def find(reading: Reading) -> Finding | None:
    """The finding, where requests lost the same stretch of time."""
    stretches = stretches_of(reading)
    if not stretches:
        return None
    rows = np.unique(np.concatenate([stretch.rows for stretch in stretches]))
    named = [
        f"{spoken_ms(stretch.end_ns - stretch.begin_ns)} from {spoken_ms(stretch.begin_ns)} on"
        for stretch in stretches[:_MOST_NAMED]
    ]
    more = f" and {len(stretches) - _MOST_NAMED} times more" if len(stretches) > _MOST_NAMED else ""
    return Finding(
        cause="stall",
        requests=len(rows),
        sentence=(
            f"{counted(len(rows), 'request')} in flight lost the same stretch of time: nothing was completed for"
            f" {joined(named)}{more}; the server stood still, as in a pause for garbage collection or a blocked loop."
        ),
        evidence={
            "stretches_ms": [[milliseconds(stretch.begin_ns), milliseconds(stretch.end_ns)] for stretch in stretches],
            "usual_service_ms": milliseconds(reading.median_service_ns),
        },
    )


def held_by_stalls(reading: Reading) -> Mask:
    """The rows that a stall held."""
    mask = np.zeros(len(reading.evidence.samples), dtype=bool)
    for stretch in stretches_of(reading):
        mask[stretch.rows] = True
    return mask


def stretches_of(reading: Reading) -> tuple[Stretch, ...]:
    """The stand-stills of a run, in order."""
    rows = np.flatnonzero(reading.service_ns != MISSING)
    if len(rows) < 2 * _FEWEST:
        return ()
    rows = rows[np.argsort(reading.evidence.samples.done[rows], kind="stable")]
    done, service = reading.evidence.samples.done[rows], reading.service_ns[rows]
    median = float(np.median(service))
    deviation = float(np.median(np.abs(service - median)))
    lost = service - median
    least = max(_LEAST_NS, _LEAST_PART * median, _DEVIATIONS * deviation)
    found = []
    # Not before the first completion: a slow first wave is a cold server's.
    for at in np.flatnonzero(np.diff(done) >= least) + 1:
        begin, end = int(done[at - 1]), int(done[at])
        pause = end - begin
        clump = np.arange(at, np.searchsorted(done, end + _CLUMP * pause, side="right"))
        held = clump[(lost[clump] > 0.1 * pause) & (lost[clump] < 1.5 * pause)]
        # Those that were in flight all through the pause and due in it: most of the clump, and some nearly all of it.
        if len(held) >= max(_FEWEST, len(clump) // 2) and float(lost[held].max()) > 0.5 * pause:
            found.append(Stretch(begin, end, rows[held]))
    return tuple(found)
