"""The parts of a run as one. Pure: no clock, no sockets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from loadgen.distribute.crew import Delivery, Skew
from loadgen.distribute.shard import Part
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Recorder, Samples, joined
from loadgen.schedule import Schedule, Shard, make_schedule
from loadgen.watch import ClientUse
from loadgen.workload import Workload


def merge(parts: Sequence[Samples]) -> Samples:
    """All rows of all parts, by due; rows due at the same moment in the order of the parts, those never begun last."""
    rows = joined(parts)
    order = np.argsort(np.where(rows.due == MISSING, np.iinfo(rows.due.dtype).max, rows.due), kind="stable")
    return rows.of(order)


def lost_rows(requests: int, *, has_targets: bool = False) -> Samples:
    """The rows of requests of which nothing is known but that this side failed to carry them out."""
    rows = Recorder(requests, has_targets=has_targets).samples()
    return replace(rows, outcome=np.full(requests, Outcome.CLIENT, dtype=np.int8))


def lost_requests(schedule: Schedule, until_ns: int) -> int:
    """How many requests of a shard had been due `until_ns` after the release, or were counted from the beginning.

    Of users who send for a time nobody knows how many they sent: none.
    """
    if schedule.requests is not None:
        return schedule.requests
    if schedule.arrivals is None:
        return 0
    return sum(int(np.count_nonzero(block <= until_ns)) for block in schedule.arrivals.blocks())


def join(
    workload: Workload, delivery: Delivery, until_ns: int, *, has_targets: bool = False
) -> tuple[Samples, ClientUse]:
    """The rows of a whole run, the lost ones among them, and what its workers used."""
    shards = [make_schedule(workload, Shard(index, len(delivery.parts))) for index in range(len(delivery.parts))]
    lost = [
        lost_requests(schedule, until_ns) for schedule, part in zip(shards, delivery.parts, strict=True) if part is None
    ]
    kept = [part for part in delivery.parts if part is not None]
    rows = merge(
        [*(part.samples for part in kept), *(lost_rows(requests, has_targets=has_targets) for requests in lost)]
    )
    return rows, join_use([part.use for part in kept], lost=lost, on_this_machine=delivery.scheduler is None)


def join_use(uses: Sequence[ClientUse], *, lost: Sequence[int], on_this_machine: bool) -> ClientUse:
    """The worst of each figure, because one busy worker is enough to spoil a run; and the sum of the CPU.

    `lost` has the number of requests of each worker that was lost.
    """
    return ClientUse(
        cpu_percent=max((use.cpu_percent for use in uses), default=0.0),
        loop_lag_p99_ms=max((use.loop_lag_p99_ms for use in uses), default=0.0),
        loop_lag_max_ms=max((use.loop_lag_max_ms for use in uses), default=0.0),
        workers=len(uses) + len(lost),
        on_this_machine=on_this_machine,
        all_cpu_percent=sum(use.cpu_percent for use in uses),
        lost_workers=len(lost),
        lost_requests=sum(lost),
    )


def skew_of(delivery: Delivery) -> Skew | None:
    """How far the workers were from one moment; None where they all have the same clock."""
    if delivery.scheduler is None:
        return None
    began = [at for part in delivery.parts if part is not None if (at := _began_ns(part)) is not None]
    spread = max(began) - min(began) if len(began) > 1 else None
    return Skew(delivery.scheduler, len(delivery.parts), delivery.clock_uncertainty_ns, spread)


def _began_ns(part: Part) -> int | None:
    """How long after it should have a worker began its first request. Users and bursts are due at the release."""
    rows = part.samples
    begun = np.flatnonzero(rows.begun != MISSING)
    if not len(begun):
        return None
    first = begun[0]
    # Of an open workload the first arrival is due later than the release; of the others the columns are the same.
    is_open = bool((rows.due != rows.begun).any())
    return int(rows.begun[first] - rows.due[first]) if is_open else int(rows.begun[first])
