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
from loadgen.explain.likelihood import Likeliest
from loadgen.explain.order import Order, ln_chance_of_subset
from loadgen.explain.queueing import WAIT_PART, Fit, Queue
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints

SYN_EARLY_NS: Final = 100_000_000
"""So much before its due moment a resend may be seen: the kernel's timers are coarse."""
SYN_RESENT_NS: Final = 1_000_000_000 - SYN_EARLY_NS
"""A connect that took this long was asked for at least twice (TCP_TIMEOUT_INIT is 1 s)."""

RTO_LEAST_NS: Final = 200_000_000
"""TCP_RTO_MIN."""
_SURELY_NOT: Final = -10.0
"""ln of a chance that is none."""
_MANY_STEPS: Final = 6
_MOST_SYNS: Final = 12
_MOST_RESENT: Final = 12

SURE_GAIN: Final = 6.0
SURE_GAIN_BLURRED: Final = 20.0
"""More is asked for than where waves show: the real distribution of service times is not quite the assumed one."""
IN_ORDER: Final = 0.15
IN_ORDER_DEVIATIONS: Final = 3.0
"""Without any order the rank correlation of n requests has a standard deviation of 1 / sqrt(n - 1)."""
ALIKE: Final = (0.45, 2.2)
BLURRED_SPREAD: Final = 0.17
"""Above it service times differ by a third or more (uniform +-1/3 has a mean deviation of 0.167): waves overlap."""
CLEAR_SPREAD: Final = 0.12
"""Of service times up to 20 % off (uniform +-0.2 has a mean deviation of 0.1), in the order in which they came."""
ORDER_GAIN: Final = 1.2
"""For each that waited; so much likelier are the times by the order of arrival, where it was the server's."""
SURE_ORDER_GAIN: Final = 2.1
CLEARER: Final = 0.7
STARVED_CHANCE: Final = 0.02
STARVED_LAST: Final = 0.9
_STARVED_TURNS: Final = 2
FEW: Final = 12
"""Of fewer requests than these, waves may be there and not be sure."""
BEHIND_PART: Final = 0.2
"""So many at least must be beyond a limit that no waves show."""
SATURATED: Final = 0.5
"""CPU seconds a second. One core's worth is all that one interpreter lock, or one event loop, can use, and on a busy
machine it does not get all of that. Waiting takes far less."""
COMPUTES_PART: Final = 0.25
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
    def starved(self) -> Mask:
        """Released first, and overtaken by whole turns of later requests on other connections.

        A server with a queue takes requests in order. One that accepts no more connections serves those that it has, as
        long as they are kept open, and lets the others stand. These are the ones that came last; slow answers would be
        anywhere among the first.
        """
        evidence, samples = self.evidence, self.evidence.samples
        mask = np.zeros(len(samples), dtype=bool)
        if evidence.is_burst or not samples.reused.any():
            return mask
        first, users = slice(0, evidence.concurrency), evidence.concurrency
        ended = np.where(samples.done[first] == MISSING, np.iinfo(np.int64).max, samples.done[first])
        others = np.sort(samples.done[users:][samples.done[users:] != MISSING])
        overtaken = np.searchsorted(others, ended) > _STARVED_TURNS * users
        left = count_of(overtaken)
        last = overtaken[np.argsort(self.arrival_ns[first], kind="stable")][users - left :]
        if left and count_of(last) >= STARVED_LAST * left and ln_chance_of_subset(users, left) < np.log(STARVED_CHANCE):
            mask[first] = overtaken
        return mask

    @cached_property
    def released(self) -> Mask:
        """Served, of known arrival, and among those released together: for them the queueing model is exact."""
        mask = self.served & ~self.adrift & ~self.starved
        mask[self.evidence.concurrency :] = False
        return mask

    @cached_property
    def fit(self) -> Fit | None:
        """The concurrency limit that accounts for the released requests; None where there are too few."""
        if count_of(self.released) < _FEWEST:
            return None
        if self._steps is not None:
            return self._queue(self.released).fit_at(self._steps, gap=True)
        all_of_them = self._fit_of(self.released)
        clean = self.released & (self.data_resent == 0)
        if count_of(clean) < max(_FEWEST, 0.2 * count_of(self.released)) or clean[self.released].all():
            return all_of_them
        # When those came whose data was sent again is an estimate. Whether any had to wait, the others tell; how many
        # places there are, only all together.
        surely = self._fit_of(clean)
        if not surely.waiting:
            queue = self._queue(self.released)
            return queue.fit_at(queue.n)
        return all_of_them if all_of_them.waiting else self._queue(self.released).fit_at(surely.limit)

    def _fit_of(self, rows: Mask) -> Fit:
        """The limit that accounts for these rows."""
        queue = self._queue(rows)
        fit = queue.fit()
        order = queue.order(fit.limit, self._unended_ns)
        # One after another, with the CPU in use all the time, is what a busy loop does: chance need not be asked.
        in_waves = order is Order.WAVES or (order is Order.MAYBE and fit.limit == 1 and self.is_saturated)
        if order is Order.MAYBE and self.resent[rows].any():
            likeliest = queue.likeliest()
            in_waves = likeliest.gain > fit.gain and abs(likeliest.limit - fit.limit) <= max(1, 0.02 * fit.limit)
        shows, many = _limits(fit) and in_waves, fit.limit <= (1 - BEHIND_PART) * queue.n
        if shows and many and fit.spread <= BLURRED_SPREAD:
            return fit
        likeliest = queue.likeliest()
        if likeliest.gain <= SURE_GAIN_BLURRED:
            return fit if shows and fit.gap and (many or not self.resent.any()) else queue.fit_at(queue.n)
        if likeliest.limit > (1 - BEHIND_PART) * queue.n:
            # A few behind many hardly move a deviation, and must each be just so late.
            few = queue.fit_at(likeliest.limit)
            late = queue.order(few.limit, self._unended_ns) is Order.WAVES
            if late or not self.is_in_order or self.resent[rows].any():
                return few if late else queue.fit_at(queue.n)
            return self._queue(rows, by_completion=True).fit_at(queue.balanced())
        if shows or self.is_in_order:
            if not (shows and fit.gap) and not self.resent[rows].any() and _is_other_order(queue, likeliest):
                # What is left is how fast requests ended.
                return self._queue(rows, by_completion=True).fit_at(queue.balanced())
            blurred = queue.fit_at(likeliest.limit)
            # A stand-still makes times unlike too, and leaves the first waves as clear as they are.
            return fit if shows and fit.gap and fit.spread < CLEARER * blurred.spread else blurred
        return queue.fit_at(queue.n)

    @cached_property
    def possible_limit(self) -> int | None:
        """Where no limit was found: one that is as well possible, because there are too few requests to tell."""
        if self.is_limited or not _FEWEST <= count_of(self.released) < FEW:
            return None
        queue = self._queue(self.released)
        fit = queue.fit()
        fits = fit.waiting > 0 and queue.order(fit.limit, self._unended_ns) is not Order.NO
        return fit.limit if fits else None

    @property
    def _unended_ns(self) -> Ints:
        """Arrivals of those that were given up while they waited for the response."""
        rows = self.timed_out & (self.evidence.samples.connected != MISSING)
        rows[self.evidence.concurrency :] = False
        arrivals: Ints = self.arrival_ns[rows]
        return arrivals

    @property
    def is_limited(self) -> bool:
        """Whether requests had to wait for a place."""
        return self.fit is not None and self.fit.waiting > 0

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

    @property
    def is_in_order(self) -> bool:
        """Whether who came later surely waited longer."""
        by_chance = 1 / np.sqrt(max(count_of(self.released) - 1, 1))
        return self.in_order > max(IN_ORDER, IN_ORDER_DEVIATIONS * float(by_chance))

    @cached_property
    def start_ns(self) -> Ints:
        """When the server began to work on each, as far as the limit tells; MISSING where that is not known."""
        known = self.served & ~self.adrift & ~self.starved
        start = np.where(known, self.arrival_ns, MISSING)
        if self.fit is None or not self.is_limited:
            return start
        start[known] = self._queue(known).fit_at(self.fit.limit).start_ns
        return start

    @cached_property
    def _steps(self) -> int | None:
        """The limit, where waves are so clear that they need only be counted."""
        rows = self.released & ~self.resent
        if count_of(rows) < _FEWEST:
            return None
        queue = Queue(self.arrival_ns[rows], self.evidence.samples.done[rows])
        limit = queue.steps()
        # So many steps of one length are no mixture's, whatever the order.
        if limit is not None and (
            queue.n > _MANY_STEPS * limit
            or queue.order(limit, self._unended_ns) is Order.WAVES
            or self._is_never_so_quick_again(limit)
        ):
            return limit
        fit = queue.fit()
        # Taken in the wrong order, times are unlike, and the best limit is a wrong one.
        clear = _limits(fit) and fit.spread <= CLEAR_SPREAD
        if clear and queue.order(fit.limit, self._unended_ns) is Order.WAVES:
            return None
        likeliest = queue.likeliest()
        if likeliest.gain > SURE_ORDER_GAIN * (queue.n - likeliest.limit):
            return None
        for limit in queue.loose_steps():
            if queue.is_together(limit) or self._is_never_so_quick_again(limit):
                return limit
        return None

    def _is_never_so_quick_again(self, limit: int) -> bool:
        """Whether only the first `limit` responses were quick, of users that send again and again.

        They found free places; all later ones come to a full server. Requests of two kinds would go on as they began.
        """
        users = self.evidence.concurrency
        response = self.evidence.samples.done - self.arrival_ns
        later = response[users:][self.served[users:]]
        first = np.sort(response[self.released])
        if not len(later) or limit >= len(first):
            return False
        border = (first[limit - 1] + first[limit]) / 2
        quick, share = count_of(later < border), limit / len(first)
        return quick < 0.1 * share * len(later) and len(later) * np.log1p(-share) < _SURELY_NOT

    def _queue(self, rows: Mask, *, by_completion: bool = False) -> Queue:
        """Connections that were asked for again come in bursts, in the order of the kernel's timers.

        Where waves are clear, requests were taken in the order in which they ended, whatever that of their arrivals.
        """
        by_completion |= self._steps is not None
        unordered = np.ones(count_of(rows), dtype=np.bool_) if by_completion else self.resent[rows]
        return Queue(self.arrival_ns[rows], self.evidence.samples.done[rows], unordered=unordered)

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
        """Whether the server's CPU was all used, or all that others on its machine left of it."""
        return self.server_cores is not None and (self.server_cores >= SATURATED or self.computes)

    @cached_property
    def computes(self) -> bool:
        """Whether a good part of what a request lasts when sent alone is CPU time: it computes, and does not wait."""
        server, served = self.evidence.server, count_of(self.served)
        if server.cpu_s is None or not server.lone_ns or not served:
            return False
        return server.cpu_s / served >= COMPUTES_PART * server.lone_ns / 1e9


def _is_other_order(queue: Queue, likeliest: Likeliest) -> bool:
    """Whether the server took requests in another order than that of their arrival.

    Then their times fit no limit well, and a much higher one best.
    """
    return likeliest.gain < ORDER_GAIN * (queue.n - likeliest.limit)


def _limits(fit: Fit) -> bool:
    return fit.waiting > 0 and fit.gain > SURE_GAIN and ALIKE[0] < fit.alike < ALIKE[1]
