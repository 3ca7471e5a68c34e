"""What became of each request, as far as its row and the kernel's rules tell: masks and arrival times.

Which claims exclude each other is said here by the masks being disjoint or not: a request that timed out or was shed is
neither served nor waited; one that was resent may also have waited for a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from loadgen.explain.evidence import Evidence, Mask, count_of
from loadgen.explain.order import ln_chance_of_subset
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints

SYN_EARLY_NS: Final = 100_000_000
"""So much before its due moment a resend may be seen: the kernel's timers are coarse."""
SYN_RESENT_NS: Final = 1_000_000_000 - SYN_EARLY_NS
"""A connect that took this long was asked for at least twice (TCP_TIMEOUT_INIT is 1 s)."""
RTO_LEAST_NS: Final = 200_000_000
"""TCP_RTO_MIN."""

_MOST_SYNS: Final = 12
_MOST_RESENT: Final = 12
_OVERTAKEN_CHANCE: Final = 0.02
_OVERTAKEN_LAST: Final = 0.9
_OVERTAKEN_TURNS: Final = 2
_HELD_LOOKS: Final = 3
_HELD_PART: Final = 0.8
_HELD_OFF: Final = 0.1
_SURE_TURNS: Final = 4
_LONG_NS: Final = 1_000_000_000
"""For longer no server that is only late in accepting leaves a connection, while it answers others all the time."""
_IN_ORDER: Final = 0.15
_IN_ORDER_DEVIATIONS: Final = 3.0
"""Without any order the rank correlation of n requests has a standard deviation of 1 / sqrt(n - 1)."""
_NEIGHBOURS: Final = 7
_FEWEST_NEIGHBOURLY: Final = 50
_NEIGHBOURLY: Final = 0.6
"""Rank correlation with the median of 15 of which one is the time itself: without any order it is 0.2 to 0.3."""
_CLEARLY: Final = 0.5
"""The order of arrival is kept where that of the neighbours does not leave half as much, or less, out of order."""


@dataclass(frozen=True)
class Rows:
    """A run's requests. Masks and times have shape (requests,)."""

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
        if samples.has_targets:  # what a target always answers is not said to make room
            away &= np.isin(samples.target, samples.target[evidence.answered & ~away])
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
    def data_resent(self) -> Ints:
        """How often more than the SYN was sent again; 0 too where that cannot be seen.

        When the accept queue fills up between SYN and ACK, the client takes itself for connected and the server does
        not: the connection comes about only when the request itself is sent again, with the lost ACK in it.
        """
        moments_ns = np.array(self.evidence.kernel.syn_resend_times_s(_MOST_SYNS)) * 1e9 - SYN_EARLY_NS
        syns = np.searchsorted(moments_ns, self.connect_ns)
        connected = self.evidence.samples.connected != MISSING
        return np.where(connected, np.clip(self.evidence.samples.resent - syns, 0, _MOST_RESENT), 0)

    @cached_property
    def arrival_ns(self) -> Ints:
        """When each request came to the server, by the client's clock: connected, or begun on an open connection.

        A round trip is added, so that a request that need not wait has its response after the service time alone. Where
        data was sent again, after the last time: RTO, 3 RTO, 7 RTO, ... after the connect (each wait is twice the one
        before), and RTO = 200 ms + round trip (tcp_set_rto in net/ipv4/tcp_input.c).
        """
        samples = self.evidence.samples
        arrival = np.where(samples.connected == MISSING, samples.begun, samples.connected)
        connects = self.connect_ns[self.connect_ns != MISSING]
        round_trip_ns = int(connects.min()) if len(connects) else 0
        # Some that is sent again is a probe (TLP), and not needed: an answer cannot come sooner than the quickest did.
        clean = self.served & (self.data_resent == 0)
        quickest = 0.8 * float((samples.done - arrival)[clean].min()) if clean.any() else 0.0
        for resent in range(1, _MOST_RESENT + 1):
            came = samples.connected + (2**resent - 1) * (RTO_LEAST_NS + round_trip_ns)
            arrival = np.where((self.data_resent >= resent) & (came <= samples.done - quickest), came, arrival)
        latest = np.where(samples.done == MISSING, arrival, np.maximum(arrival, samples.done))
        at_server: Ints = np.minimum(arrival + round_trip_ns, latest)
        return at_server

    @cached_property
    def adrift(self) -> Mask:
        """When they arrived is not known: something was sent again, and they ended before that could have helped."""
        came = self.arrival_ns - self.evidence.samples.connected
        mask: Mask = (self.data_resent > 0) & (came < RTO_LEAST_NS)
        return mask

    @cached_property
    def overtaken(self) -> Mask:
        """Released first, and overtaken by whole turns of later requests on other connections.

        A server with a queue takes requests in order. One that accepts no more connections serves those that it has, as
        long as they are kept open, and lets the others stand. These are the ones that came last; slow answers would be
        anywhere among the first.
        """
        evidence, samples = self.evidence, self.evidence.samples
        mask = np.zeros(len(samples), dtype=bool)
        if evidence.is_burst or not samples.reused.any():
            return mask
        users = evidence.concurrency
        first, others = self._first_and_later_ends
        overtaken = np.searchsorted(others, first) > _OVERTAKEN_TURNS * users
        # A kept connection makes room when it is closed, and that is when no request is left to begin. Who was served
        # sooner had only been taken up late.
        overtaken &= first > samples.begun.max()
        left = count_of(overtaken)
        last = overtaken[np.argsort(self.arrival_ns[:users], kind="stable")][users - left :]
        if (
            left
            and count_of(last) >= _OVERTAKEN_LAST * left
            and ln_chance_of_subset(users, left) < np.log(_OVERTAKEN_CHANCE)
        ):
            mask[:users] = overtaken
        return mask

    @cached_property
    def starved(self) -> Mask:
        """Those of the overtaken that surely stood before the server all the time, and were not taken up late.

        A busy machine keeps a server from accepting for a while, and it catches up bit by bit: its queue shrinks.
        """
        left = count_of(self.overtaken)
        held = left > 0 and (self._was_held(left) if self.evidence.server.queue else self._went_on_for_long(left))
        return self.overtaken if held else np.zeros_like(self.overtaken)

    def _was_held(self, left: int) -> bool:
        """Whether the accept queue was seen to hold so many connections from the first answers to the last request."""
        server, (early, late) = self.evidence.server, self._overtaking
        held = [length for at, length in server.queue if early <= at <= late]
        room = left if server.accept_queue_limit is None else min(left, server.accept_queue_limit + 1)
        steady = sum(abs(length - room) <= max(1, _HELD_OFF * room) for length in held)
        return len(held) >= _HELD_LOOKS and steady >= _HELD_PART * len(held)

    def _went_on_for_long(self, left: int) -> bool:
        """Whether all others were served at once, and then again and again, for longer than any server is only late."""
        users, (early, late) = self.evidence.concurrency, self._overtaking
        before, in_all = np.searchsorted(self._first_and_later_ends[1], (early, late)).tolist()
        return before <= users - left and in_all > _SURE_TURNS * users and late - early > _LONG_NS

    @property
    def _overtaking(self) -> tuple[int, int]:
        """From the last first answer to one that was not overtaken until the last request began, in ns."""
        users = self.evidence.concurrency
        served = self._first_and_later_ends[0][~self.overtaken[:users]]
        return int(served.max(initial=0)), int(self.evidence.samples.begun.max())

    @property
    def _first_and_later_ends(self) -> tuple[Ints, Ints]:
        """When each request ended that was released at first, and, sorted, when all later ones did."""
        users, done = self.evidence.concurrency, self.evidence.samples.done
        first = np.where(done[:users] == MISSING, np.iinfo(np.int64).max, done[:users])
        return first, np.sort(done[users:][done[users:] != MISSING])

    @cached_property
    def released(self) -> Mask:
        """Served, of known arrival, and among those released together: for them the queueing model is exact."""
        mask = self.served & ~self.adrift & ~self.overtaken
        mask[self.evidence.concurrency :] = False
        return mask

    @cached_property
    def came_ns(self) -> Ints:
        """What puts requests in the order in which the server took them: when they were connected, or when they began.

        A connection is in the accept queue from its last ACK on, and over loopback that is within connect(); a process
        of the generator that has lost its CPU for a moment notes it later, and several note it in an order of their
        own. What takes up connections takes them by that queue; what waits for requests takes these as they were sent,
        after the connect was noted. Which it was, shows: along the right order responses take longer and longer.

        An event loop may also take what came while it was accepting before what came first: whole stretches change
        places, and neighbours stay neighbours. Then the times of its neighbours put each in order.
        """
        samples = self.evidence.samples
        direct = (samples.connected != MISSING) & ~self.resent
        begun = np.where(direct, samples.begun, self.arrival_ns)
        rows = self.released & direct
        came = self.arrival_ns
        if (np.diff(begun[rows][np.argsort(came[rows], kind="stable")]) < 0).any():
            came = max(came, begun, key=self._growth)
        if self.evidence.is_burst and rows.all() and len(rows) >= _FEWEST_NEIGHBOURLY:
            of_neighbours = _times_of_neighbours(came, samples.done - self.arrival_ns)
            growth = self._growth(of_neighbours)
            if growth > _NEIGHBOURLY and 1 - growth < _CLEARLY * (1 - self._growth(came)):
                return of_neighbours
        return came

    def _growth(self, came_ns: Ints) -> float:
        """Spearman's rank correlation of an order of arrival and response time among the released."""
        rows = self.released
        response = (self.evidence.samples.done - self.arrival_ns)[rows]
        ranks = [np.argsort(np.argsort(column, kind="stable"), kind="stable") for column in (came_ns[rows], response)]
        return float(np.corrcoef(ranks[0], ranks[1])[0, 1])

    @cached_property
    def in_order(self) -> float:
        """Spearman's rank correlation of arrival and response time among the released; 1: who came later waited
        longer."""
        return self._growth(self.came_ns) if count_of(self.released) >= 20 else 0.0

    @property
    def is_in_order(self) -> bool:
        """Whether who came later surely waited longer."""
        by_chance = 1 / np.sqrt(max(count_of(self.released) - 1, 1))
        return self.in_order > max(_IN_ORDER, _IN_ORDER_DEVIATIONS * float(by_chance))


def _times_of_neighbours(came_ns: Ints, response_ns: Ints) -> Ints:
    """For each the median response time of itself and of those that came next to it, _NEIGHBOURS on either side."""
    order = np.argsort(came_ns, kind="stable")
    padded = np.pad(response_ns[order], _NEIGHBOURS, mode="symmetric")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1), axis=1)
    times = np.empty(len(order), dtype=np.int64)
    times[order] = medians
    return times
