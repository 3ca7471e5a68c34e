"""Work that shares the CPU: egalitarian processor sharing (each of n gets min(1, cores / n) of a core)."""

from __future__ import annotations

import heapq

import numpy as np

from tests.truth.model import NEVER, Floats, Request, Setup, Trace


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


def arranged(setup: Setup, rng: np.random.Generator) -> Trace:
    """A trace without the network, for runs too large for events: places alone, each user on a connection kept open."""
    begun, ends = np.empty(setup.requests), np.empty(setup.requests)
    free = [0.0] * (setup.limit or setup.concurrency)
    users = (np.arange(setup.concurrency) * setup.release_s).tolist()
    started = np.empty(setup.requests)
    heapq.heapify(users)
    for row, service_s in enumerate(setup.service_s.tolist()):
        at = heapq.heappop(users)
        begun[row] = at
        started[row] = max(at, free[0])
        ends[row] = started[row] + service_s
        heapq.heapreplace(free, ends[row])
        heapq.heappush(users, ends[row] + 1e-5)
    requests = [
        Request(
            row,
            row,
            begin,
            connected=begin if row < setup.concurrency else NEVER,
            reached=begin,
            started=start,
            due=end,
            undelayed=end,
            done=end + 1e-5,
            status=200,
            reused=row >= setup.concurrency,
        )
        for row, (begin, start, end) in enumerate(
            zip(begun.tolist(), started.tolist(), (ends + rng.exponential(1e-4, len(ends))).tolist(), strict=True)
        )
    ]
    return Trace(setup, requests, 0, [(0.025 * look, 0) for look in range(1, 40)], setup.limit or setup.concurrency)
