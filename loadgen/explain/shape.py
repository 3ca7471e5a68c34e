"""How the served requests shared the server: which of five causes that exclude each other.

| waited for a place? | service times | CPU all used | cause |
|---|---|---|---|
| no | alike (of several targets: those of each) | no, or not to be seen | overlapped |
| no | | yes | cpu-shared |
| no | twice that of a request sent alone, or more | | cpu-shared |
| yes | in waves, one place | | serial |
| yes | in waves, several places | | concurrency-limit, or connection-limit where they waited in the accept queue |
| yes | too unlike for waves, several places | no, or not to be seen | the same, by likelihood |
| yes | too unlike for waves, one place | | serial |
| yes | unlike, more places than CPUs | yes | cpu-shared |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadgen.explain.evidence import count_of
from loadgen.explain.places import CLEAR_SPREAD
from loadgen.explain.reading import LEAST_SERVICE_NS, Reading
from loadgen.samples import MISSING

IN_QUEUE: float = 0.5
"""Of those that waited, the part that the accept queue must have held for the wait to be there."""
NOT_IN_QUEUE: float = 0.2
_ACCEPTED_LEAST: float = 0.75
_ACCEPTED_PART: float = 1.1
_ACCEPTED_MORE: int = 1
"""So many more than it works on may be accepted at once: some are being closed."""

_FEWEST_WAITING = 2
_STRETCH = 2.0
_ALIKE_SPREAD = 0.02
_SETTLED = 0.2
_ONE_CPU = 0.8
"""So much of one at least is kept busy by work that shares it, where other processes leave it."""


def shape_of(reading: Reading) -> str | None:
    """The cause, from `finding.CAUSES`; None where the times are too few or too small to tell."""
    if reading.evidence.concurrency < 2 or reading.fit is None:
        return None
    if reading.starved.any():
        return "connection-limit"
    if reading.median_service_ns < LEAST_SERVICE_NS:
        return "cpu-shared" if reading.is_saturated else None
    if reading.is_saturated and _shares_cpu(reading):
        return "cpu-shared"
    if not reading.is_limited:
        if reading.is_mixed:
            return None
        return "cpu-shared" if slowed_each_other(reading) else "overlapped"
    if reading.fit.limit == 1:
        return "serial"
    return held_shape(reading)


def held_shape(reading: Reading) -> str:
    """Which of two causes it is, for a reading with a limit: one of requests at work, or of connections accepted."""
    assert reading.fit is not None
    held = held_in_accept_queue(reading)
    # A server that accepts more than it works on lets them wait for its places, wherever they stand meanwhile.
    if held is not None and held.part >= IN_QUEUE and held.is_at(reading.fit.limit):
        return "connection-limit"
    return "concurrency-limit"


def _shares_cpu(reading: Reading) -> bool:
    """Whether those at work, on a server whose CPU is all used, slowed each other."""
    assert reading.fit is not None
    if reading.waits_alone and not slowed_each_other(reading):
        return False
    if not reading.is_limited:
        return True
    if reading.fit.limit == 1:
        return False
    if reading.is_blurred:
        return True
    # With more at work than there are CPUs they share them; waves that waiting alone makes are more alike.
    return (
        reading.fit.limit > reading.evidence.cpus and reading.fit.spread > _ALIKE_SPREAD and not _is_in_waves(reading)
    )


def _is_in_waves(reading: Reading) -> bool:
    """Whether waves stand clearly apart, on a server that did not even keep one CPU busy.

    What shares a CPU uses all of it, or all that others leave; and where the waves are clear, so is the limit.
    """
    assert reading.fit is not None
    cores = reading.server_cores
    return reading.fit.gap and reading.fit.spread <= CLEAR_SPREAD and cores is not None and cores < _ONE_CPU


def slowed_each_other(reading: Reading) -> bool:
    """Whether each took longer than one alone, by so much as makes no doubt."""
    lone_ns = reading.evidence.server.lone_ns
    return bool(lone_ns) and reading.median_service_ns >= _STRETCH * (lone_ns or 1)


@dataclass(frozen=True, slots=True)
class Held:
    """What stood in the accept queue while requests waited."""

    part: float
    """Of those that waited for a place."""
    accepted: int
    """How many connections the server had accepted at once; the median."""
    accepted_range: tuple[float, float]
    """The lower quarter and the upper tenth of that: of a limit they are alike, of a server late in accepting not."""

    def is_at(self, limit: int) -> bool:
        """Whether it had as many accepted as the limit, for as long as others stood in its queue."""
        low, high = self.accepted_range
        return low >= _ACCEPTED_LEAST * limit - _ACCEPTED_MORE and high <= _ACCEPTED_PART * limit + _ACCEPTED_MORE

    @property
    def is_steady(self) -> bool:
        """Whether it had about as many accepted all the time."""
        return self.is_at(self.accepted)


def held_in_accept_queue(reading: Reading) -> Held | None:
    """What stood in the accept queue, of those that waited for a place; None where it could not be seen."""
    queue = reading.evidence.server.queue
    if not queue:
        return None
    rows = reading.start_ns != MISSING
    arrival, start = np.sort(reading.arrival_ns[rows]), np.sort(reading.start_ns[rows])
    at, held = np.array(queue, dtype=np.int64).T
    waiting = np.searchsorted(arrival, at, side="right") - np.searchsorted(start, at, side="right")
    seen = waiting >= _FEWEST_WAITING
    # Who has only just come has not been refused yet.
    settled = seen & (
        at - arrival[np.searchsorted(arrival, at, side="right") - 1] > _SETTLED * reading.median_service_ns
    )
    seen = settled if count_of(settled) >= 2 else seen
    if count_of(seen) < 2:
        return None
    done = np.sort(reading.evidence.samples.done[rows])
    accepted = np.searchsorted(arrival, at, side="right") - np.searchsorted(done, at, side="right") - held
    low, middle, high = np.quantile(accepted[seen], (0.25, 0.5, 0.9)).tolist()
    return Held(float(held[seen].sum() / waiting[seen].sum()), int(middle), (low, high))
