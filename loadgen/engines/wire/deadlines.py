"""Ends the requests whose time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Final

from loadgen.engines.wire.connection import Connection, State
from loadgen.plan import Workload
from loadgen.samples import Recorder

_LEAST_S: Final = 0.005
"""From one sweep to the next."""


class Deadlines:
    """One sweep over what is in flight, instead of a timer a request: all have the same limits, from due."""

    def __init__(self, live: Mapping[int, Connection], recorder: Recorder, workload: Workload) -> None:
        self._live = live
        self._recorder = recorder
        self._timeout_ns = round(workload.timeout_s * 1e9)
        self._connect_ns = min(self._timeout_ns, round((workload.connect_timeout_s or workload.timeout_s) * 1e9))
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """From now on, until `stop`."""
        self._next = self._loop.call_later(self._connect_ns / 1e9, self._sweep)

    def stop(self) -> None:
        """No request is ended any more."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _sweep(self) -> None:
        now = perf_counter_ns()
        next_ns = now + self._connect_ns
        for connection in [c for c in self._live.values() if c.index >= 0]:  # the others are between two requests
            limit_ns = self._connect_ns if connection.state == State.CONNECTING else self._timeout_ns
            deadline_ns = self._recorder.due[connection.index] + limit_ns
            if deadline_ns <= now:
                connection.expire()
            else:
                next_ns = min(next_ns, deadline_ns)
        if self._next is not None:
            self._next = self._loop.call_later(max((next_ns - perf_counter_ns()) / 1e9, _LEAST_S), self._sweep)
