"""What is known of the requests to each of several targets that are not kept one by one. See `loadgen.tally`."""

from __future__ import annotations

from typing import Final

import numpy as np

from loadgen.histogram import Histogram
from loadgen.outcome import Outcome
from loadgen.samples import Samples
from loadgen.summary import TargetSummary, failures_of

MOST_TIMED: Final = 50
"""Targets, each with a histogram of 0.3 MB. Of more than that, requests are counted and not timed."""


class TargetTally:
    """Counts rows by target, a few thousand at a time."""

    def __init__(self, targets: int) -> None:
        """For targets with the numbers from 1 to `targets`; 0: there are not several, and nothing is counted."""
        self._counts = np.zeros((targets, len(Outcome)), dtype=np.int64)
        self._response = [Histogram() for _ in range(targets)] if targets <= MOST_TIMED else []
        """Of the ok requests."""

    def add(self, samples: Samples) -> None:
        """Counts these rows; those never begun are no target's."""
        if not len(self._counts):
            return
        begun = samples.target > 0
        np.add.at(self._counts, (samples.target[begun] - 1, samples.outcome[begun]), 1)
        ok, response_ns = samples.ok, samples.response_ns
        for number, response in enumerate(self._response, start=1):
            response.add(response_ns[ok & (samples.target == number)])

    def merge(self, other: TargetTally) -> None:
        """Counts what another has counted of the same targets."""
        self._counts += other._counts
        for response, theirs in zip(self._response, other._response, strict=True):
            response.merge(theirs)

    def summaries(self) -> tuple[TargetSummary, ...]:
        """The figures of each target, in the order of their numbers."""
        times = [response.times() for response in self._response] or [None] * len(self._counts)
        return tuple(
            TargetSummary(int(counts.sum()), int(counts[Outcome.OK]), failures_of(counts), of_ok)
            for counts, of_ok in zip(self._counts, times, strict=True)
        )
