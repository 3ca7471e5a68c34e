"""Those who carry out the shards of a run, as the rest sees them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final, Protocol, Self

from loadgen.address import Address
from loadgen.distribute.shard import Part
from loadgen.plan import Plan
from loadgen.schedule import make_schedule
from loadgen.workload import Workload

STOP_PATIENCE_S: Final = 5.0
"""For so long those who were told to stop are waited for."""

_PREPARATION_S: Final = 0.15
_PER_CONNECTION_S: Final = 30e-6
"""To make a socket takes less than a third of it."""
_PRECONNECT_S: Final = 0.5
_PER_PRECONNECT_S: Final = 200e-6


@dataclass(frozen=True, slots=True)
class Skew:
    """How far the workers of a cluster may have been from one moment."""

    scheduler: str
    workers: int
    clock_uncertainty_ns: int
    """Of the worker whose clock is known worst: half of its best round trip."""
    release_spread_ns: int | None
    """From the first worker to begin to the last, each by its own clock; None where less than two began."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came of one run."""

    release_ns: int
    """The release, by the coordinator's perf_counter_ns."""
    parts: tuple[Part | None, ...]
    """In the order of the shards; None: the worker was lost, and its part with it."""
    scheduler: str | None = None
    clock_uncertainty_ns: int = 0


class Crew(Protocol):
    """Carries out the shards of one run after the other. A context manager."""

    def __enter__(self) -> Self:
        """Makes ready.

        Raises:
            UsageError: that cannot be done.
        """

    def __exit__(self, *exc_info: object) -> None:
        """Leaves nothing behind."""

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers' processes, of those that are on this machine."""

    def carry_out(self, plan: Plan, address: Address, stop: threading.Event) -> Delivery:
        """Blocks until every worker has handed over, or is lost. Called from a thread of its own.

        Once `stop` is set the workers are told, and what they have by then is what they hand over.

        Raises:
            UsageError: the engine cannot send this request at all, or no worker is left.
        """


def make_crew(plan: Plan) -> Crew | None:
    """The crew that a plan asks for; None: this process carries it out by itself."""
    if plan.scheduler is not None:
        from loadgen.distribute.cluster import ClusterCrew

        return ClusterCrew(plan.scheduler)
    workers = min(plan.workers, most_shards(plan.workload))
    if workers == 1:
        return None
    from loadgen.distribute.processes import ProcessCrew

    return ProcessCrew(workers, plan.engine)


def most_shards(workload: Workload) -> int:
    """To how many a workload can be dealt out, each getting something to do."""
    arrivals = make_schedule(workload).arrivals
    return workload.concurrency if arrivals is None else max(min(arrivals.expected, workload.concurrency), 1)


def preparation_ns(workload: Workload, workers: int) -> int:
    """How long before the release an order must be given: sockets are made, or connected, until then."""
    each_s, base_s = _PER_CONNECTION_S, _PREPARATION_S
    if workload.preconnect:
        each_s, base_s = each_s + _PER_PRECONNECT_S, base_s + _PRECONNECT_S
    return round((base_s + each_s * workload.released / workers) * 1e9)
