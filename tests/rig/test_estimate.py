"""How long scenarios take: by their numbers, within generous bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rig.scenario.estimate import scenario_seconds
from rig.scenario.steps import same_servers
from rig.tasks.estimate import spoken_estimate, tasks_seconds
from rig.tasks.kinds import parse_kinds
from rig.tasks.measure import TasksPlan
from rig.tasks.work import Work
from scenarios.load import load, names
from scenarios.scenario import Entry, Load, Scenario
from servers.catalog import PROFILES

SLEEP = Load((Entry("calibrated:limit=100"), Entry("async")), "/sleep", 400, 400, runs=5, service_ms=1000)


def estimated(*steps: Load) -> float:
    return scenario_seconds(Scenario("mine", "Mine", "What?", "here", steps), PROFILES)


def test_load_takes_its_runs_and_warm_up_runs() -> None:
    assert 25 < estimated(SLEEP) < 40
    assert estimated(replace(SLEEP, warmup=5)) > 1.7 * estimated(SLEEP)
    assert estimated(SLEEP, replace(SLEEP, path="/block")) == 2 * estimated(SLEEP)


def test_servers_are_kept_over_levels_that_differ_in_concurrency_alone() -> None:
    levels = [replace(SLEEP, concurrency=level) for level in (10, 20)]
    other = replace(SLEEP, n=500, concurrency=10)
    assert same_servers([*levels, other]) == [levels, [other]]
    assert estimated(*levels) < estimated(levels[0]) + estimated(levels[1])


@pytest.mark.parametrize("name", names())
def test_each_scenario_has_an_estimate(name: str) -> None:
    assert 1 < scenario_seconds(load(name), PROFILES) < 1800


def test_tasks_take_their_waves() -> None:
    plan = TasksPlan(Work.parse("sleep:100ms"), 1000, parse_kinds("pool:100,asyncio"), warmup=3, runs=7)
    assert 11 < tasks_seconds(plan) < 16
    assert tasks_seconds(replace(plan, work=Work.parse("spin:100ms"))) > 1000


@pytest.mark.parametrize(
    ("seconds", "spoken"),
    [(3.0, "some seconds"), (42.0, "about 40 seconds"), (89.9, "about 90 seconds"), (170.0, "about 3 minutes")],
)
def test_estimate_is_spoken_roughly(seconds: float, spoken: str) -> None:
    assert spoken_estimate(seconds) == spoken
