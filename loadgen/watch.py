"""The generator watching itself: how late its event loop was, and how much CPU it took."""

from __future__ import annotations

import asyncio
import time
from array import array
from dataclasses import dataclass
from types import TracebackType
from typing import Final

_INTERVAL_S: Final = 0.010


@dataclass(frozen=True, slots=True)
class ClientUse:
    """What the generator used during one run; of several workers the worst of each figure."""

    cpu_percent: float
    """Of one core: user and system time of the process over the time elapsed."""
    loop_lag_p99_ms: float
    """How much later than due the event loop came to a timer."""
    loop_lag_max_ms: float
    workers: int = 1
    """How many shared the load."""
    on_this_machine: bool = True
    """Whether more CPUs of this machine could share it."""
    all_cpu_percent: float | None = None
    """Of one core, all workers together; None: there was one."""
    lost_workers: int = 0
    """How many ended before they had handed over what they measured."""
    lost_requests: int = 0
    """What was to be carried out by those."""


class Watch:
    """Measures from entering to leaving; then `use` holds the result. For use in a running event loop."""

    def __init__(self) -> None:
        self.use = ClientUse(0.0, 0.0, 0.0)
        self._lags_s = array("d")  # 100 a second, for as long as the run may last
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Watch:
        self._loop = asyncio.get_running_loop()
        self._began, self._cpu = time.perf_counter(), time.process_time()
        self._arm()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timer is not None
        self._timer.cancel()
        # The timer that did not come to its turn was late too.
        self._lags_s.append(max(0.0, time.perf_counter() - self._due))
        elapsed = max(time.perf_counter() - self._began, 1e-9)
        lags = sorted(self._lags_s)
        self.use = ClientUse(
            cpu_percent=100 * (time.process_time() - self._cpu) / elapsed,
            loop_lag_p99_ms=1000 * lags[min(len(lags) - 1, int(0.99 * len(lags)))],
            loop_lag_max_ms=1000 * lags[-1],
        )

    def _arm(self) -> None:
        self._due = time.perf_counter() + _INTERVAL_S
        self._timer = self._loop.call_later(_INTERVAL_S, self._tick)

    def _tick(self) -> None:
        self._lags_s.append(max(0.0, time.perf_counter() - self._due))
        self._arm()
