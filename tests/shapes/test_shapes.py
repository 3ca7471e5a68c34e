"""The shapes of the documents' experiments, on real servers: waves, staircases, dropped SYNs.

What holds here whatever else the machine does: no request of the second wave can end before two service times have
passed, no more than the limit can end in the first, and so on. What needs the machine to keep up is bounded by half a
service time for a request and by a whole one for a run, and no service time is below 500 ms.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest

from loadgen.plan import Plan, Target, Workload
from loadgen.run import Run
from loadgen.runner import Session
from loadgen.samples import MISSING, Recorder
from servers.catalog import parse_spec
from servers.process import RunningServer, start
from tests.servers.support import counted, eventually, runnable

CLOCK_MS = 2
"""A timer of an event loop may fire so much before its time: its clock counts whole milliseconds."""


def measure(server: RunningServer, path: str, requests: int, over_ms: int = 1500) -> Run:
    """One burst."""
    plan = Plan(Target.parse(f"{server.url}{path}"), Workload(requests, requests), over_ms=over_ms)
    with Session(plan) as session:
        return session.run(1)


def done_ms(run: Run) -> list[float]:
    """When the requests ended, from the release; ascending."""
    done: list[float] = (np.sort(run.samples.done) / 1e6).tolist()
    return done


def assert_waves(run: Run, limit: int, service_ms: int) -> None:
    """At most `limit` requests ended in each service time, and all in as many as are needed."""
    done = done_ms(run)
    for index, ended in enumerate(done):
        assert ended >= (index // limit + 1) * (service_ms - CLOCK_MS), f"request {index} of {len(done)} was too early"
    waves = -(-len(done) // limit)
    assert done[-1] < (waves + 1) * service_ms


@dataclass(frozen=True, slots=True)
class Shape:
    """So many requests at once, to a server that works on `limit` of them: as many are in time, the others late."""

    spec: str
    limit: int
    requests: int = 400
    service_ms: int = 1000
    runs: int = 1


SHAPES = [
    Shape("threads", limit=200, runs=2),
    Shape("gthread", limit=200),
    Shape("threads:threads=400", limit=400),
    Shape("async", limit=400),
    Shape("node", limit=400),
    Shape("greenlets:backlog=1000", limit=400),
    Shape("async-threadpool", limit=40, service_ms=500),
    Shape("processes:workers=2", limit=2, requests=6, service_ms=500),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.spec)
def test_sleep_comes_in_waves_of_the_limit(shape: Shape) -> None:
    with start(runnable(shape.spec)) as server:
        for _ in range(shape.runs):
            server.reset_peak()
            run = measure(server, f"/sleep?ms={shape.service_ms}", shape.requests, over_ms=shape.service_ms * 3 // 2)
            assert (run.summary.ok, run.summary.failed) == (shape.requests, 0)
            assert_waves(run, shape.limit, shape.service_ms)
            assert run.summary.over == shape.requests - shape.limit
            assert run.summary.times is not None
            # With as many late as early ones, p50 is the first late one: index floor(0.5 x N), counted from 0.
            p50_is_late = run.summary.times.p50_ns > run.summary.over_ms * 1_000_000
            assert p50_is_late == (shape.limit <= shape.requests // 2)
            assert counted(server).peak == shape.limit


def test_connection_limit_makes_waves_below_the_number_of_threads() -> None:
    with start(parse_spec("threads:connections=100")) as server:
        run = measure(server, "/sleep?ms=500", 400, over_ms=750)
        assert run.summary.ok == 400
        assert counted(server).peak == 100
    # Four waves of 100 at best. A connection that is not closed yet when the next could be accepted adds a late wave
    # of its own, so the count of waves is from below only.
    done = done_ms(run)
    assert all(ended >= (index // 100 + 1) * 500 for index, ended in enumerate(done))
    assert 300 <= run.summary.over < 400
    assert done[-1] < 7 * 500
    assert (run.samples.connected != MISSING).all()


@pytest.mark.parametrize("spec", ["async", "node"])
def test_block_on_one_event_loop_is_a_staircase(spec: str) -> None:
    with start(runnable(spec)) as server:
        run = measure(server, "/block?ms=150", 5)
    assert run.summary.ok == 5
    done = done_ms(run)
    assert all(ended >= step * 150 for step, ended in enumerate(done, start=1))
    assert done[-1] < 10 * 150


def test_block_on_threads_shares_the_clock() -> None:
    with start(parse_spec("threads")) as server:
        run = measure(server, "/block?ms=2000", 10)
    assert run.summary.ok == 10
    done = done_ms(run)
    # All at once. Beginning ten of them beside those that spin already takes a few tenths of a second.
    assert done[0] >= 2000
    assert done[-1] < 2 * 2000


class Released:
    """Looks on and knows when every request of a run has begun."""

    def __init__(self) -> None:
        self._recorder: Recorder | None = None

    def begin(self, run: int, recorder: Recorder) -> None:
        self._recorder = recorder

    def tick(self) -> None:
        pass

    def all_begun(self) -> bool:
        return self._recorder is not None and MISSING not in self._recorder.begun


@contextmanager
def paused(server: RunningServer, until: Released) -> Iterator[None]:
    """The server stands still from now on, until a burst is out."""

    def resume() -> None:
        eventually(until.all_begun)
        os.kill(server.pid, signal.SIGCONT)

    os.kill(server.pid, signal.SIGSTOP)
    resuming = threading.Thread(target=resume)
    resuming.start()
    try:
        yield
    finally:
        resuming.join()


def test_requests_beyond_the_accept_queue_are_resent_and_late() -> None:
    with start(parse_spec("greenlets:backlog=100")) as server:
        raced = measure(server, "/sleep", 400)
        released = Released()
        plan = Plan(Target.parse(f"{server.url}/sleep"), Workload(400, 400))
        with Session(plan, observer=released) as session, paused(server, released):
            certain = session.run(1)
    # How many found the queue full is a race of the server with the burst; that these are the late ones is not.
    for run in (raced, certain):
        assert run.summary.ok == 400
        late = run.samples.response_ns > run.summary.over_ms * 1_000_000
        assert (run.samples.resent[late] > 0).all()
    # A server that accepts nothing meanwhile: the kernel holds one more than the queue's length, and drops the rest.
    assert (certain.summary.over, certain.summary.resent) == (299, 299)
