"""Work that shares the CPU: egalitarian processor sharing (each of n gets min(1, cores / n) of a core)."""

from __future__ import annotations

import heapq

import numpy as np

from tests.truth.model import Floats


def shared_ends(arrival_s: Floats, work_s: Floats, cores: float) -> Floats:
    """When each is done; arrays of shape (n,), arrivals sorted. `cores` may be 1 on a larger machine (one lock)."""
    ends = np.empty_like(arrival_s)
    active: list[tuple[float, int]] = []  # (virtual time at which it is done, row)
    now = virtual = 0.0
    rows = list(range(len(arrival_s)))
    arrivals, works = arrival_s.tolist(), work_s.tolist()
    at = 0
    while at < len(rows) or active:
        rate = min(1.0, cores / len(active)) if active else 0.0
        ends_at = now + (active[0][0] - virtual) / rate if active else float("inf")
        comes_at = arrivals[at] if at < len(rows) else float("inf")
        moment = min(ends_at, comes_at)
        virtual += rate * (moment - now)
        now = moment
        if ends_at <= comes_at:
            ends[heapq.heappop(active)[1]] = now
        else:
            heapq.heappush(active, (virtual + works[at], at))
            at += 1
    return ends
