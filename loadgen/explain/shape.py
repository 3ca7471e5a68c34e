"""How the served requests shared the server: which of five causes that exclude each other.

| waited for a place? | service times | CPU all used | cause |
|---|---|---|---|
| no | alike | no, or not to be seen | overlapped |
| no | | yes | cpu-shared |
| yes | in waves, one place | | serial |
| yes | in waves, several places | | concurrency-limit, or connection-limit where they waited in the accept queue |
| yes | too unlike for waves | no, or not to be seen | the same, by the rate of completions |
| yes | too unlike for waves | yes | cpu-shared |
"""

from __future__ import annotations

import numpy as np

from loadgen.explain.evidence import Mask, count_of
from loadgen.explain.reading import LEAST_SERVICE_NS, Reading
from loadgen.samples import MISSING

IN_QUEUE: float = 0.5
"""Of those that waited, the part that the accept queue must have held for the wait to be there."""
NOT_IN_QUEUE: float = 0.2

_FEWEST_WAITING = 2
_STARVED_TURNS = 2


def shape_of(reading: Reading) -> str | None:
    """The cause, from `finding.CAUSES`; None where the times are too few or too small to tell."""
    if reading.evidence.concurrency < 2 or reading.fit is None:
        return None
    if count_of(starved(reading)):
        return "connection-limit"
    if reading.median_service_ns < LEAST_SERVICE_NS:
        return "cpu-shared" if reading.is_saturated else None
    if reading.is_saturated and (reading.is_blurred or not reading.is_limited):
        return "cpu-shared"
    if not reading.is_limited:
        return "overlapped"
    if reading.fit.limit == 1:
        return "serial"
    if (held := held_in_accept_queue(reading)) is not None and held >= IN_QUEUE:
        return "connection-limit"
    return "concurrency-limit"


def held_in_accept_queue(reading: Reading) -> float | None:
    """Of those that waited for a place, the part that stood in the accept queue; None where it could not be seen."""
    queue = reading.evidence.server.queue
    if not queue:
        return None
    rows = reading.start_ns != MISSING
    arrival, start = np.sort(reading.arrival_ns[rows]), np.sort(reading.start_ns[rows])
    at, held = np.array(queue, dtype=np.int64).T
    waiting = np.searchsorted(arrival, at, side="right") - np.searchsorted(start, at, side="right")
    seen = waiting >= _FEWEST_WAITING
    if count_of(seen) < 2:
        return None
    return float(held[seen].sum() / waiting[seen].sum())


def starved(reading: Reading) -> Mask:
    """Rows that were released first and overtaken by whole turns of later ones on other connections.

    A server with a queue takes them in order; one that accepts no more connections serves those that it has, as long
    as they are kept open, and lets the others stand.
    """
    evidence, samples = reading.evidence, reading.evidence.samples
    mask = np.zeros(len(samples), dtype=bool)
    if evidence.is_burst or not samples.reused.any():
        return mask
    first = slice(0, evidence.concurrency)
    ended = np.where(samples.done[first] == MISSING, np.iinfo(np.int64).max, samples.done[first])
    others = np.sort(samples.done[evidence.concurrency :][samples.done[evidence.concurrency :] != MISSING])
    overtaken = np.searchsorted(others, ended)
    mask[first] = overtaken > _STARVED_TURNS * evidence.concurrency
    return mask
