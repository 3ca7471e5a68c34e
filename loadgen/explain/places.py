"""The places that the server has: which limit, if any, accounts for when the requests were complete."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from loadgen.explain.backlog import Backlog
from loadgen.explain.by_target import places_explain
from loadgen.explain.cpu import Cpu
from loadgen.explain.evidence import Mask, count_of
from loadgen.explain.fit import CRISP_SPREAD, WAIT_PART, Fit
from loadgen.explain.likelihood import Likeliest
from loadgen.explain.open_fit import sure_fit
from loadgen.explain.order import Order
from loadgen.explain.queueing import Queue
from loadgen.explain.seen import seen_fit
from loadgen.explain.tandem import lead_ns
from loadgen.samples import MISSING, Ints

_SURELY_NOT: Final = -10.0
"""ln of a chance that is none."""
_MANY_STEPS: Final = 6
_TURNS_OFF: Final = 0.25
"""Of a turn; so unlike are turns at CPUs that other processes use too."""

SURE_GAIN: Final = 6.0
SURE_GAIN_BLURRED: Final = 20.0
"""More is asked for than where waves show: the real distribution of service times is not quite the assumed one."""
ALIKE: Final = (0.45, 2.2)
BLURRED_SPREAD: Final = 0.17
"""Above it service times differ by a third or more (uniform +-1/3 has a mean deviation of 0.167): waves overlap."""
CLEAR_SPREAD: Final = 0.12
"""Of service times up to 20 % off (uniform +-0.2 has a mean deviation of 0.1), in the order in which they came."""
ORDER_GAIN: Final = 1.2
"""For each that waited; so much likelier are the times by the order of arrival, where it was the server's."""
SURE_ORDER_GAIN: Final = 2.1
CLEARER: Final = 0.7
FEW: Final = 12
"""Of fewer requests than these, waves may be there and not be sure."""
BEHIND_PART: Final = 0.2
"""So many at least must be beyond a limit that no waves show."""
ONE_CPU_MOST: Final = 1.3
"""CPUs that one interpreter lock, or one event loop, can use, with what the server does beside it."""

WHOLE: Final = 0.98
"""Of an open run's requests so many at least were served, or the order in which they were is not known."""

_FEWEST: Final = 2


@dataclass(frozen=True)
class Places(Cpu):
    """A run, and the places that its requests had to share. Masks and times have shape (requests,)."""

    @cached_property
    def fit(self) -> Fit | None:
        """The concurrency limit that accounts for the requests; None where there are too few.

        Of several targets one that would hold for some of them only is none.
        """
        fit = self._open_fit if self.evidence.is_open else self._fit_of_all
        if fit is None or not fit.waiting or not self.evidence.samples.has_targets:
            return fit
        rows = self._orderly if self.evidence.is_open else self.released
        arrival_ns, done_ns = self.arrival_ns[rows], self.evidence.samples.done[rows]
        waited = fit.start_ns - arrival_ns > WAIT_PART * fit.median_ns
        if places_explain(self.evidence.samples.target[rows], fit.service_ns, waited):
            return fit
        if self.evidence.is_open:
            return None
        queue = Queue(arrival_ns, done_ns)
        return queue.fit_at(queue.n)

    @cached_property
    def _fit_of_all(self) -> Fit | None:
        """The limit that accounts for the released requests if they are all of one kind."""
        if count_of(self.released) < _FEWEST:
            return None
        started, rows = self.evidence.started, self.released
        if started is not None:
            done = self.evidence.samples.done
            return seen_fit(self._queue(rows), self.arrival_ns[rows], started[rows], done[rows])
        if self.lead_ns:
            return self._queue(self.released).fit_at(1)
        fit = self._inferred_fit()
        return fit if fit.is_possible else self._queue(self.released).fit_at(fit.requests)

    def _inferred_fit(self) -> Fit:
        """The limit by waves, or by likelihood where none show; whether it is possible is not asked yet."""
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

    @cached_property
    def backlog(self) -> Backlog | None:
        """Whether an open run's completions kept up; None for others, and where that cannot be told."""
        return Backlog.of(self.evidence.samples) if self.evidence.is_open else None

    @cached_property
    def _open_fit(self) -> Fit | None:
        """The limit that surely accounts for an open run; None where none does, or too few were served to tell."""
        rows = self._orderly
        if self.backlog is None or count_of(rows) < WHOLE * count_of(self.evidence.begun):
            return None
        return sure_fit(self.arrival_ns[rows], self.evidence.samples.done[rows], self.backlog)

    @property
    def _orderly(self) -> Mask:
        """Which requests of an open run tell of places."""
        return self.served & ~self.adrift

    @cached_property
    def lead_ns(self) -> int:
        """How long the requests of a burst waited side by side before they passed one at a time. See `tandem`."""
        rows = self.released
        # What keeps more than one CPU busy does not work on one at a time.
        several = (self.server_cores or 0.0) > ONE_CPU_MOST
        if not self.evidence.is_burst or self.resent[rows].any() or several:
            return 0
        return lead_ns(self.arrival_ns[rows], self.evidence.samples.done[rows], busy=self.is_saturated)

    def _fit_of(self, rows: Mask) -> Fit:
        """The limit that accounts for these rows."""
        queue = self._queue(rows)
        fit = queue.fit()
        order = queue.order(fit.limit, self._unended_ns)
        # One after another, with the CPU in use all the time, is what a busy loop does: chance need not be asked.
        # Nor where times are once, twice and thrice the service time to a few hundredths, and the waves stand apart.
        # With two waves it could be two sorts of answers.
        is_crisp = fit.gap and fit.spread <= CRISP_SPREAD and fit.requests > 2 * fit.limit
        sure = is_crisp or (fit.limit == 1 and self.is_saturated)
        in_waves = order is Order.WAVES or (order is Order.MAYBE and sure)
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
        if self.is_limited or self.evidence.started is not None or not _FEWEST <= count_of(self.released) < FEW:
            return None
        queue = self._queue(self.released)
        fit = queue.fit()
        fits = (
            fit.waiting > 0
            and fit.is_possible
            and fit.alike > ALIKE[0]
            and queue.order(fit.limit, self._unended_ns) is not Order.NO
        )
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
    def _steps(self) -> int | None:
        """The limit, where waves are so clear that they need only be counted."""
        rows = self.released & ~self.resent
        if self.evidence.started is not None or count_of(rows) < _FEWEST:
            return None
        queue = Queue(self.arrival_ns[rows], self.evidence.samples.done[rows], came_ns=self.came_ns[rows])
        limit = queue.steps()
        # So many steps of one length are no mixture's, whatever the order.
        if limit is not None and (
            queue.n > _MANY_STEPS * limit
            or queue.order(limit, self._unended_ns) is Order.WAVES
            or self._is_never_so_quick_again(limit)
        ):
            return limit
        turns = queue.steps(_TURNS_OFF)
        if turns is not None and self._is_in_turns_at_cpus(turns):
            return turns
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

    def _is_in_turns_at_cpus(self, limit: int) -> bool:
        """Whether so clear waves are of no more than the CPUs, of a server that wants them all the time.

        Each then has a CPU until it ends: those that shared it would all end late, and none after the time of one.
        """
        return (self.is_saturated or self.wants_cpu) and limit <= self.evidence.cpus

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
        arrival_ns = self.arrival_ns[rows] + self.lead_ns
        return Queue(arrival_ns, self.evidence.samples.done[rows], unordered=unordered, came_ns=self.came_ns[rows])


def _is_other_order(queue: Queue, likeliest: Likeliest) -> bool:
    """Whether the server took requests in another order than that of their arrival.

    Then their times fit no limit well, and a much higher one best.
    """
    return likeliest.gain < ORDER_GAIN * (queue.n - likeliest.limit)


def _limits(fit: Fit) -> bool:
    return fit.waiting > 0 and fit.gain > SURE_GAIN and ALIKE[0] < fit.alike < ALIKE[1]
