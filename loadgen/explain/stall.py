"""Cause `stall`: everything in flight stood still over the same stretch of the clock.

Its mark: a pause in completions that those in flight cannot have made by chance. Each of them has waited for so long
when the pause begins; how many of the requests that last as long end within the next moments, the others tell. If many
should have ended in the pause and none did, and those that end after it took longer than usual, the clock's time was
lost and not the requests' own. Two kinds of requests, fast ones and slow ones, make a pause too, but in no single
burst can that be told from a stand-still, and none is named then: whoever is in flight is one of the slow ones. Where
the kinds are known, as those of several targets are, each request is held against its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loadgen.explain.evidence import Mask, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.fit import Floats
from loadgen.explain.limits import unseen_resends
from loadgen.explain.reading import Reading
from loadgen.explain.words import joined, spoken_ms
from loadgen.samples import MISSING, Ints

_LEAST_NS: Final = 40_000_000
"""A busy machine's scheduler keeps a process waiting for as long, without its standing still by itself."""
_LEAST_PART: Final = 0.25
"""Of the service time; shorter stand-stills are in its own spread."""
_LAGS: Final = 1.2
"""Of the generator's own event loop: what stood still for about as long may be the generator, or the machine."""
_SURE: Final = 14.0
"""-ln of the chance that the requests in flight made a pause by themselves; there may be thousands of pauses."""
_SURE_PER_TARGET: Final = 0.5
"""More for each further target: the half request that is added for each weighs so much at most."""
_FEWEST_OF_TARGET: Final = 5
_MOST_TARGETS: Final = 50
_CLEARLY: Final = 0.5
"""Of a stand-still: garbage collection that fills less of it is not what it came from, or not alone."""
_FEWEST: Final = 3
_MOST_PAUSES: Final = 64
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
    terms = reading.evidence.terms
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
            f"{terms.requests(len(rows))} in flight lost the same stretch of time: nothing was completed for"
            f" {joined(named)}{more}; {terms.server} stood still, {_why(reading, stretches)}{unseen_resends(reading)}."
        ),
        evidence={
            **_collected(collections_in(reading, stretches)),
            "stretches_ms": [[milliseconds(stretch.begin_ns), milliseconds(stretch.end_ns)] for stretch in stretches],
            "usual_service_ms": milliseconds(reading.median_service_ns),
        },
    )


def _why(reading: Reading, stretches: Sequence[Stretch]) -> str:
    """What makes it do so; of an executor, whose garbage is not collected meanwhile, the machine around it."""
    if not reading.evidence.terms.networked:
        return "as where other work takes the CPU"
    found = collections_in(reading, stretches)
    if found is None:
        return "as in a pause for garbage collection or a blocked loop"
    if not found:
        return "as in a blocked loop, or where other work takes the CPU: it collected no garbage meanwhile"
    named = [
        f"from {spoken_ms(begin)} to {spoken_ms(end)}, {spoken_ms(end - begin)}" for begin, end in found[:_MOST_NAMED]
    ]
    more = f" and {len(found) - _MOST_NAMED} times more" if len(found) > _MOST_NAMED else ""
    return f"for it collected garbage {joined(named)}{more}"


def collections_in(reading: Reading, stretches: Sequence[Stretch]) -> list[tuple[int, int]] | None:
    """The garbage collections that fill most of a stand-still, ns from the release; None: the server tells of none."""
    collections = reading.evidence.server.collections
    if collections is None:
        return None
    found: list[tuple[int, int]] = []
    for stretch in stretches:
        within = [
            (begin, end, min(end, stretch.end_ns) - max(begin, stretch.begin_ns))
            for begin, end in collections
            if begin < stretch.end_ns and end > stretch.begin_ns
        ]
        if sum(overlap for *_, overlap in within) >= _CLEARLY * (stretch.end_ns - stretch.begin_ns):
            found += [(begin, end) for begin, end, _ in sorted(within)]
    return found


def _collected(collections: Sequence[tuple[int, int]] | None) -> dict[str, Any]:
    if collections is None:
        return {}
    return {"collections_ms": [[milliseconds(begin), milliseconds(end)] for begin, end in collections]}


def held_by_stalls(reading: Reading) -> Mask:
    """The rows that a stall held."""
    mask = np.zeros(len(reading.evidence.samples), dtype=bool)
    for stretch in stretches_of(reading):
        mask[stretch.rows] = True
    return mask


def stretches_of(reading: Reading) -> tuple[Stretch, ...]:
    """The stand-stills of a run, in order."""
    # When those came that were sent again is known by the kernel's timers alone, which make pauses too.
    rows = np.flatnonzero((reading.service_ns != MISSING) & ~reading.resent)
    if len(rows) < 2 * _FEWEST:
        return ()
    # What the kernel sends again comes in bursts with pauses between them: unseen, they would pass for stand-stills.
    if not reading.evidence.sees_resends and reading.resent.any():
        return ()
    # Nor is it known how long those were worked on that waited for a place among requests of another kind.
    if reading.is_mixed and not reading.is_limited:
        return ()
    rows = rows[np.argsort(reading.evidence.samples.done[rows], kind="stable")]
    done, start = reading.evidence.samples.done[rows], reading.start_ns[rows]
    target = reading.evidence.samples.target[rows]
    service = {number: np.sort((done - start)[target == number]) for number in _told(target)}
    if not service:
        return ()
    lost = done - start - _usual_ns(reading, target, service)
    sure = _SURE + _SURE_PER_TARGET * (len(service) - 1)
    pauses = np.diff(done)
    lag_ns = 1e6 * reading.evidence.use.loop_lag_max_ms
    least = max(_LEAST_NS, _LEAST_PART * reading.median_service_ns, _LAGS * lag_ns)
    longest = np.argsort(pauses)[::-1][:_MOST_PAUSES]
    found = []
    # Not before the first completion: a slow first wave is a cold server's.
    for at in np.sort(longest[pauses[longest] >= least]) + 1:
        begin, end = int(done[at - 1]), int(done[at])
        pause = end - begin
        flies = start[at:] <= begin
        age, kind = begin - start[at:][flies], target[at:][flies]
        if sum(_unlikeliness(age[kind == number], pause, times) for number, times in service.items()) < sure:
            continue
        held = np.flatnonzero((start <= begin) & (done >= end) & (lost > 0.1 * pause) & (lost < 1.5 * pause))
        # Waves have pauses of a service time between them: it is what was lost that must be more than noise.
        if len(held) >= _FEWEST and float(lost[held].max()) >= least:
            found.append(Stretch(begin, end, rows[held]))
    return tuple(found)


def _told(target: NDArray[np.int16]) -> list[int]:
    """The numbers of targets with enough requests to tell how long they take; none where there are too many."""
    numbers, counts = np.unique(target, return_counts=True)
    told: list[int] = numbers[counts >= _FEWEST_OF_TARGET].tolist()
    return told if len(told) <= _MOST_TARGETS else []


def _usual_ns(reading: Reading, target: NDArray[np.int16], service: Mapping[int, Ints]) -> Floats:
    """The usual service time of each row's target; of one that is not told, of all."""
    usual = np.full(len(target), reading.median_service_ns)
    if reading.evidence.samples.has_targets:
        for number, times in service.items():
            usual[target == number] = np.median(times)
    return usual


def _unlikeliness(age_ns: Ints, pause_ns: int, service_ns: Ints) -> float:
    """-ln of the chance that none of those in flight ends in a pause.

    Args:
        age_ns: for how long each has been worked on when the pause begins.
        pause_ns: how long it lasts.
        service_ns: of all requests, sorted; they stand for the distribution.
    """
    n = len(service_ns)
    longer = n - np.searchsorted(service_ns, age_ns, side="right")
    longest = n - np.searchsorted(service_ns, age_ns + pause_ns, side="left")
    # Half a request is added on both sides: nobody is sure to end, or not to.
    return float(np.log((longer + 1.0) / (longest + 0.5)).sum()) if len(age_ns) else 0.0
