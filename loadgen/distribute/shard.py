"""One shard of one run: carried out here, released at a given moment, handed over as columns."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from loadgen.address import Address
from loadgen.carrying import collect_young, loop_factory, no_garbage_collection
from loadgen.engines import Job, load_engine
from loadgen.kernel import raise_descriptor_limit
from loadgen.plan import Plan
from loadgen.samples import Recorder, Samples
from loadgen.schedule import Shard, make_schedule
from loadgen.watch import ClientUse, Watch


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is asked to carry out."""

    plan: Plan
    address: Address
    """Where to connect: the name was resolved once, for all workers."""
    shard: Shard
    release_at_ns: int
    """By the worker's own perf_counter_ns."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a worker hands over."""

    samples: Samples
    """Times count from the release, which is one moment for all."""
    use: ClientUse


def make_ready(engine: str) -> None:
    """Imports what an order for that engine needs: that takes longer than there is between an order and its release."""
    load_engine(engine)
    loop_factory()


class ShardRun:
    """One order, while it is carried out."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Future[None] | None = None
        self._stopped = False

    def carry_out(self, *, stopped_by: int | None = None) -> Part:
        """Blocks until all requests have ended, or it is told to stop; `stopped_by` is a descriptor that becomes
        readable then.

        Raises:
            UsageError: the engine cannot send this request at all.
        """
        plan = self._order.plan
        raise_descriptor_limit()
        schedule = make_schedule(plan.workload, self._order.shard)
        recorder = Recorder(
            schedule.known_requests, has_due_times=schedule.arrivals is not None, has_targets=bool(plan.mix)
        )
        job = Job(plan, self._order.address, schedule, recorder, self._order.release_at_ns)
        with no_garbage_collection(), asyncio.Runner(loop_factory=loop_factory()) as runner:
            use = runner.run(self._run(job, stopped_by))
            return Part(recorder.samples(), use)

    def stop(self) -> None:
        """Ends the requests that are under way, and lets no other begin. For other threads."""
        self._stopped = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                self._loop.call_soon_threadsafe(self._cancel)

    async def _run(self, job: Job, stopped_by: int | None) -> ClientUse:
        self._loop = asyncio.get_running_loop()
        engine = load_engine(job.plan.engine)
        async with Watch() as watch:
            self._task = asyncio.ensure_future(engine.run(job))
            if self._stopped:
                self._cancel()
            lasts = job.plan.workload.duration_s is not None
            collecting = asyncio.ensure_future(collect_young()) if lasts else None
            with self._watching(stopped_by), suppress(asyncio.CancelledError):
                await self._task
            if collecting is not None:
                collecting.cancel()
        return watch.use

    @contextmanager
    def _watching(self, descriptor: int | None) -> Iterator[None]:
        if descriptor is None:
            yield
            return
        assert self._loop is not None
        loop = self._loop

        def readable() -> None:
            loop.remove_reader(descriptor)
            self._cancel()

        loop.add_reader(descriptor, readable)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)
            os.set_blocking(descriptor, True)  # libuv made it non-blocking (uv_poll_init)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
