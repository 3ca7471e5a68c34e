"""A release at a given moment, as several generators need it."""

from __future__ import annotations

import asyncio
from time import perf_counter_ns

import pytest
import uvloop

from loadgen.address import resolve
from loadgen.engines import Job, load_engine
from loadgen.plan import ENGINES, Plan, Stage, Target, Workload
from loadgen.samples import MISSING, Recorder, Samples
from loadgen.schedule import make_schedule
from tests.support import Server

WORKLOADS = {
    "burst": Workload(5, 5),
    "closed": Workload(9, 3),
    "open": Workload(None, 50, stages=(Stage(0.1, 100, 100),), is_open=True),
    "users": Workload(None, 2, stages=(Stage(0.1, 2, 2),)),
}


def fire_at(engine: str, url: str, workload: Workload, release_at_ns: int) -> tuple[Samples, int | None]:
    """The rows of a run released then, and what it took for its release."""
    plan, schedule = Plan(Target.parse(url), workload, engine=engine), make_schedule(workload)
    recorder = Recorder(schedule.known_requests, has_due_times=schedule.arrivals is not None)
    job = Job(plan, resolve(plan.target), schedule, recorder, release_at_ns)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(load_engine(engine).run(job))
    return recorder.samples(), recorder.release_ns


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", WORKLOADS)
def test_nothing_begins_before_the_moment_and_all_times_count_from_it(engine: str, kind: str, server: Server) -> None:
    load_engine(engine)
    moment = perf_counter_ns() + 300_000_000
    samples, release_ns = fire_at(engine, server.url(), WORKLOADS[kind], moment)
    assert release_ns == moment
    assert samples.ok.all()
    assert len(samples) >= 5
    assert 0 <= samples.begun.min() < 1_000_000_000
    if kind == "open":
        assert samples.due.tolist() == [10_000_000 * number for number in range(10)]


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_moment_that_is_past_shows_as_a_late_begin(kind: str, server: Server) -> None:
    samples, _ = fire_at("wire", server.url(), WORKLOADS[kind], perf_counter_ns() - 50_000_000)
    assert samples.ok.any()
    assert samples.begun[samples.begun != MISSING].min() >= 50_000_000


@pytest.mark.parametrize("engine", ENGINES)
def test_an_open_load_without_any_arrival_ends(engine: str, server: Server) -> None:
    few = (Stage(0.1, 1, 1),)
    workloads = (Workload(None, 1, stages=few, is_open=True, poisson=True, seed=seed) for seed in range(100))
    arrivals = ((workload, make_schedule(workload).arrivals) for workload in workloads)
    without = next(workload for workload, due in arrivals if due is not None and not list(due.blocks()))
    samples, _ = fire_at(engine, server.url(), without, perf_counter_ns())
    assert len(samples) == len(server.received) == 0
