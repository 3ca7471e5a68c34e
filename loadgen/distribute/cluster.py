"""A crew of Dask workers. Each has a clock of its own, so each is asked for it, and given the release in it."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Final, Self

from loadgen.address import Address
from loadgen.distribute import remote
from loadgen.distribute.crew import STOP_PATIENCE_S, Delivery, most_shards, preparation_ns
from loadgen.distribute.shard import Order, Part
from loadgen.errors import LoadgenError, UsageError
from loadgen.plan import Plan
from loadgen.schedule import Shard

_CONNECT_PATIENCE_S: Final = 5.0
_ROUND_TRIPS: Final = 15
_WAY_NS: Final = 1_000_000_000
"""For an order to reach its worker."""
_LOOK_S: Final = 0.25
"""So often it is looked whether a worker was lost, or it is time to stop."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A worker's clock beside ours."""

    offset_ns: int
    """Its reading less ours."""
    uncertainty_ns: int


async def _greet(scheduler: str) -> None:
    """Returns when a scheduler has answered; raises whatever comes of who does not, or is none."""
    from distributed.comm.core import connect

    open_connection: Any = connect  # its types are not given
    async with asyncio.timeout(_CONNECT_PATIENCE_S):
        connection = await open_connection(scheduler, timeout=_CONNECT_PATIENCE_S)
        connection.abort()


class ClusterCrew:
    """The workers of a Dask cluster: one shard each."""

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler

    def __enter__(self) -> Self:
        """See `Crew`. Workers of another version are refused."""
        self._client = self._connect()
        try:
            self._workers()
        except BaseException:
            self._client.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        """See `Crew`. The cluster stays as it was."""
        self._client.close()

    def _connect(self) -> Any:
        try:
            import distributed
        except ImportError:
            raise UsageError("--scheduler needs the extra `cluster`: pip install 'loadrig[cluster]'") from None
        # What it would say of a connection that fails, we say; and of versions we ask those that matter.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", category=distributed.versions.VersionMismatchWarning)
        try:
            # First alone, for the client does not bound the handshake, and one that fails there is 10 s in closing.
            asyncio.run(_greet(self._scheduler))
            connect: Any = distributed.Client  # its types are not given
            return connect(self._scheduler, timeout=_CONNECT_PATIENCE_S, set_as_default=False)
        except Exception:  # who is no scheduler may say anything: a length of exabytes is a MemoryError
            raise UsageError(
                f"no scheduler answered at {self._scheduler} within {_CONNECT_PATIENCE_S:.0f} s: start one with"
                " `dask scheduler`, and give its address as tcp://HOST:8786"
            ) from None

    def _workers(self) -> list[str]:
        """The addresses of all workers, each of which has the same versions as this side.

        Raises:
            UsageError: one has not, or there is none.
        """
        ours = remote.versions()
        found = self._client.run(remote.versions, on_error="return")
        if not found:
            raise UsageError(f"the scheduler at {self._scheduler} has no workers: start some with `dask worker`")
        for worker, theirs in found.items():
            if isinstance(theirs, Exception):
                raise UsageError(f"worker {worker} does not tell its version of loadrig ({theirs!r}): install it there")
            if tuple(theirs) != ours:
                raise UsageError(
                    f"worker {worker} has loadrig {theirs[0]} on Python {theirs[1]}, and this side loadrig {ours[0]} on"
                    f" Python {ours[1]}: both must be the same"
                )
        return sorted(found)

    def _clock(self, worker: str) -> Clock:
        """By the quickest of several round trips: its middle is the moment at which the worker looked."""
        best = Clock(0, -1)
        for _ in range(_ROUND_TRIPS):
            sent = perf_counter_ns()
            there = self._client.run(perf_counter_ns, workers=[worker])[worker]
            came = perf_counter_ns()
            if best.uncertainty_ns < 0 or came - sent < 2 * best.uncertainty_ns:
                best = Clock(there - (sent + came) // 2, (came - sent) // 2)
        return best

    @property
    def pids(self) -> tuple[int, ...]:
        """See `Crew`."""
        return ()

    def carry_out(self, plan: Plan, address: Address, stop: threading.Event) -> Delivery:
        """See `Crew`."""
        workers = self._workers()[: most_shards(plan.workload)]
        self._client.run(remote.make_ready, plan.engine, workers=workers)
        clocks = [self._clock(worker) for worker in workers]
        release_ns = perf_counter_ns() + _WAY_NS + preparation_ns(plan.workload, len(workers))
        futures = [
            self._client.submit(
                remote.carry_out,
                Order(plan, address, Shard(index, len(workers)), release_ns + clock.offset_ns),
                workers=[worker],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
            for index, (worker, clock) in enumerate(zip(workers, clocks, strict=True))
        ]
        try:
            self._wait(futures, workers, stop)
            parts = tuple(self._part(future) for future in futures)
        finally:
            self._client.cancel(futures, force=True)
        uncertainty_ns = max(clock.uncertainty_ns for clock in clocks)
        return Delivery(release_ns, parts, self._scheduler, uncertainty_ns)

    def _wait(self, futures: Sequence[Any], workers: Sequence[str], stop: threading.Event) -> None:
        """Returns when each has ended, or has lost its worker; or some time after they were told to stop."""
        deadline = math.inf
        while time.monotonic() < deadline:
            known = self._client.scheduler_info()["workers"]
            waiting = [
                worker
                for future, worker in zip(futures, workers, strict=True)
                if future.status == "pending" and worker in known
            ]
            if not waiting:
                return
            if stop.is_set() and deadline == math.inf:
                deadline = time.monotonic() + STOP_PATIENCE_S
                self._client.run(remote.stop, workers=waiting, on_error="ignore")
            time.sleep(_LOOK_S)

    def _part(self, future: Any) -> Part | None:
        """What a worker handed over; None: it was lost."""
        if future.status == "error" and isinstance(error := future.exception(), LoadgenError):
            raise error
        if future.status != "finished":
            return None
        try:
            part = future.result(timeout=STOP_PATIENCE_S)
        except Exception:  # it was lost with what it had to hand over
            return None
        assert isinstance(part, Part)
        return part
