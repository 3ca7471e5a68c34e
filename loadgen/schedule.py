"""When each request is due: Workload -> Schedule. Pure: no clock, no sockets.

A burst and a closed workload have no times of their own (a request is due when it begins), so their schedule is a
count and a bound on how many are in flight.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadgen.plan import Workload


@dataclass(frozen=True, slots=True)
class Schedule:
    """What an engine carries out.

    Invariants: 1 <= in_flight <= requests.
    """

    requests: int
    in_flight: int
    """How many are released together at first, and the bound on those in flight; each end lets the next one begin."""


def make_schedule(workload: Workload) -> Schedule:
    """The schedule of a workload."""
    return Schedule(requests=workload.requests, in_flight=workload.concurrency)
