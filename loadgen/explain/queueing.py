"""From arrivals and completions to the number of places a server has.

The model: requests are taken in the order in which they arrive, by one of `limit` places, and hold it for a service
time that varies. Then with arrivals a (sorted), completions d and sorted completions D, the request with rank i begins
its service at

    start_i = a_i                     for i < limit
    start_i = max(a_i, D_{i-limit})   else

because it needs as many completions before it as there are requests before it less the places. (The recursion of
Kiefer and Wolfowitz for the G/G/c queue, read backwards from completions.) With the right limit, d - start is the
service time of each, alike for all; with a wrong one, part of them come out too long or too short. The limit is the one
that makes them most alike.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from loadgen.explain.evidence import Mask
from loadgen.explain.fit import WAIT_PART, Fit, Floats, Trial
from loadgen.explain.likelihood import Likeliest, likeliest_limit
from loadgen.explain.order import Order, is_together, order_of
from loadgen.samples import Ints

STEP_OFF: Final = 0.15
_GRID_RATIO: Final = 1.12
_MANY: Final = 100_000
_ENOUGH: Final = 30_000
_CLEAN: Final = 0.1
"""Spread of a limit that needs no other to be tried: that of service times within 20 % of each other."""
_GROUP_NS: Final = 50_000_000
"""A longer pause between arrivals parts those that were sent again together from the next ones."""
_RELEASE_PART: Final = 0.5
_WIDE_GAP: Final = 0.25
_LOOSE: Final = 0.17
_GAP_WINDOW: Final = 2.4
"""The second wave begins at twice the first completion, or sooner where the first wave was a cold one."""


class Queue:
    """Arrivals and completions of requests that were released together; limits are tried on them."""

    def __init__(
        self, arrival_ns: Ints, done_ns: Ints, unordered: Mask | None = None, came_ns: Ints | None = None
    ) -> None:
        """Shapes (n,), in any order, n at least 2.

        `came_ns`: what puts them in the order in which the server took them, where that is not `arrival_ns`.
        `unordered`: rows whose arrivals stand close together in an order that need not be the server's. Such a group is
        taken to have been worked on in the order of its completions.
        """
        self.n = len(arrival_ns)
        self._order = np.argsort(arrival_ns if came_ns is None else came_ns, kind="stable")
        self._a = arrival_ns[self._order].astype(np.float64)
        self._arrival = self._a
        self._loose = np.zeros(self.n, dtype=np.bool_) if unordered is None else unordered[self._order]
        self._response = done_ns[self._order] - self._a
        if unordered is not None and unordered.any():
            self._sort_groups(unordered, done_ns)
        self._d = done_ns[self._order].astype(np.float64)
        self._sorted = np.sort(self._d)
        self._tried: dict[int, Trial] = {}

    def _sort_groups(self, unordered: Mask, done_ns: Ints) -> None:
        loose = unordered[self._order]
        begins = np.flatnonzero(np.diff(self._a, prepend=-np.inf) > _GROUP_NS)
        for group in np.split(np.arange(self.n), begins[1:]):
            at = group[loose[group]]
            rows = self._order[at]
            self._order[at] = rows[np.argsort(done_ns[rows], kind="stable")]

    def fit(self) -> Fit:
        """The limit that accounts best for the times; `n` where nothing waited."""
        gaps = self._first_gaps()
        best = min((self.n, *gaps), key=self._unlike)
        if self._unlike(best) > _CLEAN:
            best = min((best, *self._grid()), key=self._unlike)
        best = self._refine(best)
        # Deviations of whole waves weigh little where there are many waves: the first gap counts the places exactly.
        near = [limit for limit in gaps if self._unlike(limit) <= 1.25 * self._unlike(best) + 0.01]
        gap = bool(near)
        if near:
            best = min(near, key=self._unlike)
        return self._fit_at(best, gap=gap and best < self.n)

    def steps(self, off: float = STEP_OFF) -> int | None:
        """The limit of waves so clear that it is a matter of counting; None where they are not.

        That is where each wave ends within a short part of a service time, one service time after the wave before. It
        needs no order of arrival, which is not the server's to the last microsecond. `off`: that short part.
        """
        since = self._sorted - self._a[0]
        if self._a[-1] - self._a[0] > _RELEASE_PART * since[0]:
            return None
        for limit in self._first_gaps():
            begins = np.arange(0, self.n, limit)
            first, last = since[begins], since[np.minimum(begins + limit, self.n) - 1]
            between = np.diff(first)
            step = float(np.median(between))
            if (
                (last - first).max() < off * step
                and np.abs(between - step).mean() < off * step
                and 1 - 2 * off < since[0] / step < 1.5 + off
            ):
                return limit
        return None

    def loose_steps(self) -> list[int]:
        """Limits of waves of which the first is clear, and which need not be of neighbours in the order of arrival.

        For servers that take what came together in an order of their own. The service times are those of a server that
        takes them in the order of their ends; so they come out more alike than they are.
        """
        if self._a[-1] - self._a[0] > _RELEASE_PART * (self._sorted[0] - self._a[0]):
            return []
        found = []
        for limit in self._first_gaps():
            wide = self._sorted[limit] - self._sorted[limit - 1] if limit < self.n else 0
            if wide < _WIDE_GAP * (self._sorted[0] - self._a[0]):
                continue
            first, others = self._sorted[:limit] - self._a[0], self._sorted[limit:] - self._sorted[: self.n - limit]
            trial = Trial.of(first, others)
            if trial.unlike < _LOOSE and 0.6 < trial.alike < 1.4:
                found.append(limit)
        return found

    def balanced(self) -> int:
        """The limit by Little's law, whatever the order: places = completions a second x mean service time.

        It is the one with which those that waited took as long, in the mean, as the first ones to end, which did not.
        """
        low, high = 1, self.n
        while low < high:
            middle = (low + high) // 2
            others = self._sorted[middle:] - self._sorted[: self.n - middle]
            if middle >= self.n or others.mean() >= (self._sorted[:middle] - self._a[0]).mean():
                high = middle
            else:
                low = middle + 1
        return low

    def is_together(self, limit: int) -> bool:
        """Whether the first wave is of neighbours in the order of arrival."""
        return is_together(self._response, limit)

    def likeliest(self) -> Likeliest:
        """The limit that makes the completions likeliest; for service times so unlike that no waves show."""
        return likeliest_limit(self._a, self._d, self._sorted)

    def order(self, limit: int, unended_ns: Ints) -> Order:
        """Whether who came later ended later, as in waves of a limit.

        `unended_ns`: arrivals of others, given up.
        """
        response = self._response
        if self._loose.any():
            # Those that were sent again come when others have gone, and need not wait: the first ones alone tell.
            response = response[~self._loose]
            if len(response) <= limit:
                return Order.MAYBE
        elif len(unended_ns):
            arrival = np.concatenate((self._arrival, unended_ns))
            response = np.concatenate((response, np.full(len(unended_ns), np.inf)))[np.argsort(arrival, kind="stable")]
        return order_of(response, limit)

    def fit_at(self, limit: int, *, gap: bool = False) -> Fit:
        """What a given limit makes of the times."""
        return self._fit_at(limit, gap=gap)

    def _fit_at(self, limit: int, *, gap: bool) -> Fit:
        start = self._start(limit)
        back = np.empty_like(self._order)
        back[self._order] = np.arange(self.n)
        return Fit(
            limit=limit,
            requests=self.n,
            waiting=int(np.count_nonzero(start - self._a > WAIT_PART * np.median(self._d - start))),
            start_ns=start[back].astype(np.int64),
            service_ns=(self._d - start)[back].astype(np.int64),
            spread=self._try(limit).spread,
            free_spread=self._try(self.n).spread,
            alike=self._try(limit).alike,
            gap=gap,
            last_end=float(self._sorted[-1] - self._a[0]) / max(float(self._response.min()), 1.0),
        )

    def _start(self, limit: int) -> Floats:
        start = self._a.copy()
        if limit < self.n:
            np.maximum(start[limit:], self._sorted[: self.n - limit], out=start[limit:])
        return start

    def _try(self, limit: int) -> Trial:
        trial = self._tried.get(limit)
        if trial is None:
            trial = self._tried[limit] = Trial.of(*self._thinned(limit))
        return trial

    def _thinned(self, limit: int) -> tuple[Floats, Floats]:
        """Service times of the first ones and of the others; of very many, some spread evenly: more tell no more."""
        step = self.n // _ENOUGH or 1
        behind = -(-limit // step)
        first = (self._d[:limit] - self._a[:limit])[:: limit // _ENOUGH or 1]
        arrival, done = self._a[::step][behind:], self._d[::step][behind:]
        before = self._sorted[behind * step - limit :: step][: len(arrival)]
        return first, done - np.maximum(arrival, before)

    def _unlike(self, limit: int) -> float:
        return self._try(limit).unlike

    def _grid(self) -> list[int]:
        ratio = _GRID_RATIO if self.n < _MANY else _GRID_RATIO**2
        steps = int(np.log(self.n) / np.log(ratio)) + 1
        return sorted({int(ratio**step) for step in range(steps)})

    def _refine(self, limit: int) -> int:
        """The best limit near a good one: halving steps to both sides."""
        step = max(1, int(limit * (_GRID_RATIO - 1)))
        while True:
            around = [at for at in (limit - step, limit, limit + step) if 1 <= at <= self.n]
            limit = min(around, key=self._unlike)
            if step == 1 and all(self._unlike(at) >= self._unlike(limit) for at in around):
                return limit
            step = max(1, step // 2)

    def _first_gaps(self) -> list[int]:
        """How many were complete before each of the widest pauses about where a first wave would end."""
        since = self._sorted - self._a[0]
        window = int(np.searchsorted(since, _GAP_WINDOW * since[0], side="right"))
        pauses = np.diff(since[: window + 1])
        if not len(pauses):
            return []
        widest = np.argsort(pauses)[::-1][:3]
        return [int(at) + 1 for at in widest if pauses[at] > 0.12 * since[0]]
