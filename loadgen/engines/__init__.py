"""Engines carry out requests. One file each; this one holds what they share and the selector.

An engine writes rows and nothing else: it prints nothing, installs no signal handler, raises no error for a failing
request (that is an Outcome).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Final, Protocol

from loadgen.address import Address
from loadgen.plan import Plan
from loadgen.samples import Recorder
from loadgen.schedule import Schedule

_COARSE_NS: Final = 3_000_000
"""Before the release, for which the loop's timers (1 ms) are too coarse."""
_SPIN_NS: Final = 100_000
"""Before the release, for which the kernel's are. No longer: who spins has used up his turn when the moment comes."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run, as an engine gets it."""

    plan: Plan
    address: Address
    """Where to connect: the name was resolved once, for the whole run."""
    schedule: Schedule
    recorder: Recorder
    release_at_ns: int | None = None
    """When to release, by perf_counter_ns, where others release at the same moment; None: when it is ready."""

    async def release_comes(self) -> None:
        """Returns at the moment of the release, to some microseconds; at once where none is given, or it is past."""
        if self.release_at_ns is None:
            return
        await asyncio.sleep(max(self.release_at_ns - _COARSE_NS - perf_counter_ns(), 0) / 1e9)
        time.sleep(max(self.release_at_ns - _SPIN_NS - perf_counter_ns(), 0) / 1e9)  # nothing is under way yet
        while perf_counter_ns() < self.release_at_ns:
            pass


class Engine(Protocol):
    """Carries out one run."""

    async def run(self, job: Job) -> None:
        """Carries out each request of the schedule, writes its row, and returns when all have ended.

        On cancellation it closes its connections and lets the CancelledError through; rows without an outcome stay
        `cancelled`. Must not outlive the workload's timeout by more than a moment.
        """


def load_engine(name: str) -> Engine:
    """The engine of that name (`loadgen.plan.ENGINES`), imported only now: clients are heavy."""
    match name:
        case "aiohttp":
            from loadgen.engines.aiohttp_engine import AiohttpEngine

            return AiohttpEngine()
        case "httpx":
            from loadgen.engines.httpx_engine import HttpxEngine

            return HttpxEngine()
        case _:
            from loadgen.engines.wire import WireEngine

            return WireEngine()
