"""Requests counted from rows: by outcome, and response times in the buckets of both of Prometheus's histograms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints, Recorder, Samples
from loadgen.summary import NS_PER_MS, NS_PER_S

BOUNDS_MS: Final = (
    1, 2.5, 5, 10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 750,
    1000, 1250, 1500, 2000, 2500, 3000, 4000, 5000, 7500, 10_000, 30_000, 60_000,
)  # fmt: skip
"""Upper bounds of the classic buckets; one without a bound follows. At waves of a second, every 250 ms to 500 ms."""
_BOUNDS_NS: Final = np.array([bound * NS_PER_MS for bound in BOUNDS_MS], dtype=np.int64)

SCHEMA: Final = 3
"""Of the native buckets: eight to each doubling, so that a value read back is off by 4.4 % at most."""
FIRST_INDEX: Final = -160
"""The least index of a native bucket: 2^(-160 / 8) s is about 1 us. Bucket i holds (2^((i-1)/8), 2^(i/8)] seconds."""
_LAST_INDEX: Final = 136
"""131,072 s; no request lasts that long."""
_MOST_COUNTED: Final = 20_000
"""Rows counted at one look, some milliseconds; the engine waits meanwhile."""


def _none(size: int) -> NDArray[np.int64]:
    return np.zeros(size, dtype=np.int64)


@dataclass(slots=True)
class Counts:
    """What was counted. Every figure only ever grows."""

    outcomes: Ints = field(default_factory=lambda: _none(len(Outcome)))
    """Requests that ended, by `Outcome` number."""
    classic: Ints = field(default_factory=lambda: _none(len(BOUNDS_MS) + 1))
    """Response times of the ok requests in each bucket of BOUNDS_MS alone; the last is above all of them."""
    native: Ints = field(default_factory=lambda: _none(_LAST_INDEX - FIRST_INDEX + 1))
    """The same by index, from FIRST_INDEX on."""
    sum_ns: int = 0
    """Of those response times."""
    resent: int = 0
    """Requests whose connection retransmitted, as far as that can be seen."""

    def add(self, outcome: NDArray[np.int8], response_ns: Ints, resent: NDArray[np.int16]) -> None:
        """Counts requests that have ended; shapes (n,)."""
        self.outcomes += np.bincount(outcome, minlength=len(Outcome))
        times = response_ns[outcome == Outcome.OK]
        if len(times):
            self.classic += np.bincount(np.searchsorted(_BOUNDS_NS, times), minlength=len(self.classic))
            index = np.ceil(np.log2(np.maximum(times, 1) / NS_PER_S) * 2**SCHEMA).astype(np.int64)
            index = np.clip(index, FIRST_INDEX, _LAST_INDEX) - FIRST_INDEX
            self.native += np.bincount(index, minlength=len(self.native))
            self.sum_ns += int(times.sum())
        self.resent += int(np.count_nonzero(resent > 0))

    def add_samples(self, samples: Samples) -> None:
        """Counts the rows of a run that has ended, or of a part of it that has."""
        self.add(samples.outcome, samples.response_ns, samples.resent)

    def __add__(self, other: Counts) -> Self:
        return type(self)(
            self.outcomes + other.outcomes,
            self.classic + other.classic,
            self.native + other.native,
            self.sum_ns + other.sum_ns,
            self.resent + other.resent,
        )

    def at_least(self, before: Counts) -> Counts:
        """Each figure, or the one before where that is higher."""
        return Counts(
            np.maximum(self.outcomes, before.outcomes),
            np.maximum(self.classic, before.classic),
            np.maximum(self.native, before.native),
            max(self.sum_ns, before.sum_ns),
            max(self.resent, before.resent),
        )


class RowCounts:
    """Counts the rows of a recorder as they end, each once.

    To be used between the engine's turns alone: columns that are looked at cannot be extended.

    Attributes:
        counts: Of the rows that have ended and are still the recorder's.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.counts = Counts()
        self._recorder = recorder
        self._folded = recorder.folded
        self._seen: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    def look(self) -> None:
        """Counts those that have ended since the last look; of very many the first, and the others next time."""
        recorder = self._recorder
        if recorder.folded != self._folded:  # other columns, whose rows are new
            self._folded, self.counts, self._seen = recorder.folded, Counts(), self._seen[:0]
        outcome = _now(recorder.outcome)
        self._seen = np.concatenate((self._seen, np.zeros(len(outcome) - len(self._seen), dtype=np.bool_)))
        rows = np.flatnonzero((outcome != Outcome.CANCELLED) & ~self._seen)[:_MOST_COUNTED]
        if len(rows):
            response_ns = _now(recorder.done)[rows] - _now(recorder.due)[rows]
            self.counts.add(outcome[rows], response_ns, _now(recorder.resent)[rows])
            self._seen[rows] = True

    @property
    def in_flight(self) -> int:
        """How many requests have begun and not ended."""
        begun, outcome = _now(self._recorder.begun), _now(self._recorder.outcome)
        return int(np.count_nonzero((begun != MISSING) & (outcome == Outcome.CANCELLED)))


def _now(column: Any) -> NDArray[Any]:
    """A recorder's column as it stands; no longer to be used when the engine goes on."""
    return np.frombuffer(column, dtype=column.typecode)
