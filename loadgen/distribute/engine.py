"""The engine that has others carry out a job, and takes over what they measured."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from time import perf_counter_ns

from loadgen.distribute.crew import Crew, Skew
from loadgen.distribute.merge import join, skew_of
from loadgen.engines import Job
from loadgen.watch import ClientUse


class ShardedEngine:
    """Deals a job out to a crew.

    Attributes:
        use: what the workers used in the last run.
        skew: how far they were from one moment; None where they all have the same clock.
    """

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self.use = ClientUse(0.0, 0.0, 0.0)
        self.skew: Skew | None = None

    async def run(self, job: Job) -> None:
        """See `loadgen.engines.Engine.run`. Cancelled, it waits for what the workers have until then."""
        stop = threading.Event()
        work = asyncio.ensure_future(asyncio.to_thread(self._crew.carry_out, job.plan, job.address, stop))
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.wait([work]))
                continue
            stop.set()
        delivery = work.result()
        job.recorder.release(delivery.release_ns)
        until_ns = perf_counter_ns() - delivery.release_ns
        rows, self.use = join(job.plan.workload, delivery, until_ns, has_targets=bool(job.plan.mix))
        self.skew = skew_of(delivery)
        job.recorder.take(rows)
        if stop.is_set():
            raise asyncio.CancelledError
