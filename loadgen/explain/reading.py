"""What all causes look at, derived from the evidence once.

A cause is a function of a Reading and returns a Finding or None. Requests are claimed in the order of
`finding.CAUSES`; which claims exclude each other is said here by the masks being disjoint or not: a request that timed
out or was shed is neither served nor waited; one that was resent may also have waited for a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from loadgen.explain.evidence import Evidence, Mask, count_of
from loadgen.explain.queueing import WAIT_PART, Fit, Queue
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints

SYN_EARLY_NS: Final = 100_000_000
"""So much before its due moment a resend may be seen: the kernel's timers are coarse."""
SYN_RESENT_NS: Final = 1_000_000_000 - SYN_EARLY_NS
"""A connect that took this long was asked for at least twice (TCP_TIMEOUT_INIT is 1 s)."""

SURE_GAIN: Final = 6.0
ALIKE: Final = (0.45, 2.2)
BLURRED_SPREAD: Final = 0.17
"""Above it service times differ by a third or more (uniform +-1/3 has a mean deviation of 0.167): waves overlap."""
BEHIND_PART: Final = 0.2
"""So many at least must be beyond a limit that no waves show."""
SATURATED: Final = 0.7
"""CPU seconds a second. One core's worth is all that one interpreter lock, or one event loop, can use, and on a busy
machine it does not get all of that. Waiting takes far less."""
LEAST_SERVICE_NS: Final = 2_000_000
"""Times below are made of the machine's own scheduling, and say nothing about places."""

_FEWEST: Final = 2


@dataclass(frozen=True)
class Reading:
    """A run, and what was derived from it. Masks and times have shape (requests,)."""

    evidence: Evidence

    @cached_property
    def connect_ns(self) -> Ints:
        """How long the connect took; MISSING where it did not end or an open connection was used."""
        samples = self.evidence.samples
        return np.where(samples.connected == MISSING, MISSING, samples.connected - samples.begun)

    @cached_property
    def timed_out(self) -> Mask:
        """Gave up waiting."""
        mask: Mask = np.isin(self.evidence.samples.outcome, (Outcome.TIMEOUT, Outcome.CONNECT_TIMEOUT))
        return mask

    @cached_property
    def resent(self) -> Mask:
        """Something on their connection was sent again. By TCP_INFO; without it, by the length of the connect."""
        samples = self.evidence.samples
        if self.evidence.sees_resends:
            mask: Mask = samples.resent > 0
        else:
            mask = self.connect_ns >= SYN_RESENT_NS
        return mask & self.evidence.begun

    @cached_property
    def shed(self) -> Mask:
        """Turned away: 429, 503 or a reset, sooner than the others were served."""
        samples, evidence = self.evidence.samples, self.evidence
        away = np.isin(samples.status, (429, 503)) & evidence.answered
        away |= samples.outcome == Outcome.RESET
        response = samples.response_ns
        if not away.any() or not samples.ok.any():
            return np.zeros(len(samples), dtype=bool)
        quick = float(np.median(response[away])) < 0.5 * float(np.median(response[samples.ok]))
        return away if quick else np.zeros(len(samples), dtype=bool)

    @cached_property
    def served(self) -> Mask:
        """Got what they asked for, or a well-formed no, after being worked on."""
        return self.evidence.answered & ~self.shed

    @cached_property
    def arrival_ns(self) -> Ints:
        """When the server could first have had each request: connected, or begun on an open connection."""
        samples = self.evidence.samples
        return np.where(samples.connected == MISSING, samples.begun, samples.connected)

    @cached_property
    def adrift(self) -> Mask:
        """The client took them for connected, the server did not: more was sent again than their SYN.

        When the queue fills up between SYN and ACK, the connection is reached only when data or the server's SYN/ACK
        is sent again: after 200 ms, 600 ms, 1 s or later. So their arrival is not known.
        """
        moments_ns = np.array(self.evidence.kernel.syn_resend_times_s()) * 1e9 - SYN_EARLY_NS
        syns = np.searchsorted(moments_ns, self.connect_ns)
        mask: Mask = self.evidence.begun & (self.evidence.samples.resent > syns)
        return mask

    @cached_property
    def released(self) -> Mask:
        """Served, of known arrival, and among those released together: for them the queueing model is exact."""
        mask = self.served & ~self.adrift
        mask[self.evidence.concurrency :] = False
        return mask

    @cached_property
    def fit(self) -> Fit | None:
        """The concurrency limit that accounts for the released requests; None where there are too few."""
        if count_of(self.released) < _FEWEST:
            return None
        queue = self._queue(self.released)
        fit = queue.fit()
        if _limits(fit) and (fit.gap or fit.spread <= BLURRED_SPREAD):
            return fit
        balanced = queue.fit_at(queue.balanced_limit())
        behind = balanced.requests - balanced.limit
        if (
            behind >= BEHIND_PART * queue.n
            and balanced.waiting >= 0.5 * behind
            and (_limits(fit) or self.in_order > 0.5)
        ):
            return balanced
        return queue.fit_at(queue.n)

    @property
    def is_limited(self) -> bool:
        """Whether requests had to wait for a place."""
        return self.fit is not None and self.fit.limit < self.fit.requests

    @property
    def is_blurred(self) -> bool:
        """Whether service times are so unlike that no waves show."""
        return self.fit is not None and not self.fit.gap and self.fit.spread > BLURRED_SPREAD

    @cached_property
    def in_order(self) -> float:
        """Spearman's rank correlation of arrival and response time among the released; 1: who came later waited
        longer."""
        rows = self.released
        if count_of(rows) < 20:
            return 0.0
        arrival, response = self.arrival_ns[rows], (self.evidence.samples.done - self.arrival_ns)[rows]
        ranks = [np.argsort(np.argsort(column, kind="stable"), kind="stable") for column in (arrival, response)]
        return float(np.corrcoef(ranks[0], ranks[1])[0, 1])

    @cached_property
    def start_ns(self) -> Ints:
        """When the server began to work on each, as far as the limit tells; MISSING where that is not known."""
        known = self.served & ~self.adrift
        start = np.where(known, self.arrival_ns, MISSING)
        if self.fit is None or not self.is_limited:
            return start
        start[known] = self._queue(known).fit_at(self.fit.limit).start_ns
        return start

    def _queue(self, rows: Mask) -> Queue:
        """Connections that were asked for again come in bursts, in the order of the kernel's timers."""
        return Queue(self.arrival_ns[rows], self.evidence.samples.done[rows], unordered=self.resent[rows])

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
    def waited(self) -> Mask:
        """Waited for a place, for a good part of a service time."""
        if not self.is_limited:
            return np.zeros(len(self.evidence.samples), dtype=bool)
        long_ns = WAIT_PART * self.median_service_ns
        mask: Mask = (self.start_ns != MISSING) & (self.start_ns - self.arrival_ns > long_ns)
        return mask

    @cached_property
    def server_cores(self) -> float | None:
        """CPU seconds a second that the server took; None where that could not be seen or the run was too short."""
        cpu_s, done = self.evidence.server.cpu_s, self.evidence.samples.done
        wall_s = float(done.max()) / 1e9 if len(done) else 0.0
        if cpu_s is None or wall_s < 0.1:  # CPU time is counted in hundredths of a second
            return None
        return cpu_s / wall_s

    @property
    def is_saturated(self) -> bool:
        """Whether the server's CPU was all used."""
        return self.server_cores is not None and self.server_cores >= SATURATED


def _limits(fit: Fit) -> bool:
    return fit.waiting > 0 and fit.gain > SURE_GAIN and ALIKE[0] < fit.alike < ALIKE[1]
