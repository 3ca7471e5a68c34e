"""The two manners of waiting: an endpoint's steps carried out by a thread (or greenlet), or by a coroutine.

Each server process has one of these, with its own pool for /downstream.
"""

from __future__ import annotations

import asyncio
import threading
import time

from servers.stats import Gauge
from servers.work import POOL_SIZE, Endpoint, Reply, Wait, Waited, advance


class Blocking:
    """Waits by `time.sleep`: it holds a thread, or, where gevent has patched the module, a greenlet."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._pool = threading.BoundedSemaphore(POOL_SIZE)

    def serve(self, endpoint: Endpoint, query: str) -> Reply:
        """Do the endpoint's work.

        Raises:
            RequestError: the query string is refused.
        """
        value = endpoint.value(query)
        with self._gauge:
            steps = endpoint.work(value)
            step = advance(steps)
            while isinstance(step, Wait):
                step = advance(steps, self._wait(step))
            return step

    def _wait(self, wait: Wait) -> Waited:
        begun = time.perf_counter_ns()
        if not wait.pooled:
            time.sleep(wait.seconds)
            return Waited(0, time.perf_counter_ns() - begun)
        with self._pool:
            acquired = time.perf_counter_ns()
            time.sleep(wait.seconds)
            return Waited(acquired - begun, time.perf_counter_ns() - acquired)


class Awaiting:
    """Waits by `asyncio.sleep`: it holds no thread."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._pool = asyncio.BoundedSemaphore(POOL_SIZE)

    async def serve(self, endpoint: Endpoint, query: str) -> Reply:
        """Do the endpoint's work.

        Raises:
            RequestError: the query string is refused.
        """
        value = endpoint.value(query)
        with self._gauge:
            steps = endpoint.work(value)
            step = advance(steps)
            while isinstance(step, Wait):
                step = advance(steps, await self._wait(step))
            return step

    async def _wait(self, wait: Wait) -> Waited:
        begun = time.perf_counter_ns()
        if not wait.pooled:
            await asyncio.sleep(wait.seconds)
            return Waited(0, time.perf_counter_ns() - begun)
        async with self._pool:
            acquired = time.perf_counter_ns()
            await asyncio.sleep(wait.seconds)
            return Waited(acquired - begun, time.perf_counter_ns() - acquired)
