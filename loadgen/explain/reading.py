"""What all causes look at, derived from the evidence once: the places that the server has, and who waited for one.

A cause is a function of a Reading and returns a Finding or None. What became of each request by itself is in `rows`,
what the server's CPU did in `cpu`, how many places there are in `places`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from loadgen.explain.by_target import is_alike_within
from loadgen.explain.evidence import Mask, count_of
from loadgen.explain.fit import WAIT_PART
from loadgen.explain.places import Places
from loadgen.explain.seen import mean_at_once
from loadgen.samples import MISSING, Ints

LEAST_SERVICE_NS: Final = 2_000_000
"""Times below are made of the machine's own scheduling, and say nothing about places."""


@dataclass(frozen=True)
class Reading(Places):
    """A run, and what was derived from it. Masks and times have shape (requests,)."""

    @cached_property
    def is_mixed(self) -> bool:
        """Whether requests were to several targets, and their times are not even alike target by target."""
        samples, rows = self.evidence.samples, self.released
        return samples.has_targets and not is_alike_within(samples.target[rows], samples.response_ns[rows])

    @property
    def at_once(self) -> int:
        """How many ran side by side: all that were released together, or the mean where it was seen."""
        served, started = self.served, self.evidence.started
        if started is None or not served.any():
            return min(self.evidence.concurrency, count_of(served))
        return mean_at_once(started[served], self.evidence.samples.done[served])

    @cached_property
    def start_ns(self) -> Ints:
        """When the server began to work on each, as far as the limit tells; MISSING where that is not known."""
        known = self.served & ~self.adrift & ~self.overtaken
        if self.evidence.started is not None:
            return np.where(known, self.evidence.started, MISSING)
        start = np.where(known, self.arrival_ns, MISSING)
        if self.fit is None or not self.is_limited:
            return start
        start[known] = self._queue(known).fit_at(self.fit.limit).start_ns
        return start

    @cached_property
    def service_ns(self) -> Ints:
        """How long the server worked on each; MISSING where that is not known."""
        return np.where(self.start_ns == MISSING, MISSING, self.evidence.samples.done - self.start_ns)

    @cached_property
    def median_service_ns(self) -> float:
        """The service time in the middle; 0 where none was served."""
        known = self.service_ns[self.start_ns != MISSING]
        return float(np.median(known)) if len(known) else 0.0

    @cached_property
    def usual_most_ns(self) -> float:
        """The longest service time that is still the usual; inf where none is known.

        A quarter above the 95th hundredth: of those that had a place at once, which may have met a cold server, or of
        the others, whichever is more.
        """
        known = self.start_ns != MISSING
        groups = [self.service_ns[known & mask] for mask in (self.waited, ~self.waited)]
        return max((1.25 * float(np.quantile(group, 0.95)) for group in groups if len(group)), default=float("inf"))

    @cached_property
    def waited(self) -> Mask:
        """Waited for a place, for a good part of a service time."""
        if not self.is_limited:
            return np.zeros(len(self.evidence.samples), dtype=bool)
        long_ns = WAIT_PART * self.median_service_ns
        mask: Mask = (self.start_ns != MISSING) & (self.start_ns - self.arrival_ns > long_ns)
        return mask
