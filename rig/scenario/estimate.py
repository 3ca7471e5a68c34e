"""How long a scenario will take, about, from its numbers and what is predicted of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rig.scenario.loads import prediction_of
from rig.scenario.steps import same_servers
from rig.tasks.estimate import tasks_seconds
from rig.tasks.kinds import Kind
from rig.tasks.measure import TasksPlan
from rig.tasks.work import Work
from scenarios.scenario import Ask, Entry, Load, Scenario, Step, Tasks, ThreadCost
from servers.catalog import Instance, Profile, parse_spec
from servers.runtimes import JAVA

_RATE_RPS: Final = 2000
"""Of requests of which nothing is known but how many they are."""
_RUN_S: Final = 0.2
"""Beside the requests."""
_RESENT_S: Final = 1.2
"""What a SYN that is sent again adds."""
_START_S: Final = 1.5
_JVM_START_S: Final = 5.0
_COST_S: Final = (0.4, 200e-6)
"""A process that measures what threads cost; each of them."""


def scenario_seconds(scenario: Scenario, catalog: Mapping[str, Profile]) -> float:
    """Seconds that it takes, where every runtime is there."""
    return sum(
        _start_s(steps[0], catalog) + sum(_step_s(step, catalog) for step in steps)
        for steps in same_servers(scenario.steps)
    )


def _start_s(step: Step, catalog: Mapping[str, Profile]) -> float:
    if not isinstance(step, Load | Ask):
        return 0.0
    instances = [parse_spec(entry.spec, catalog) for entry in step.entries]
    return sum(_JVM_START_S if instance.profile.runtime is JAVA else _START_S for instance in instances)


def _step_s(step: Step, catalog: Mapping[str, Profile]) -> float:
    match step:
        case Load():
            runs = step.warmup + step.runs
            return runs * sum(_run_s(step, entry, parse_spec(entry.spec, catalog)) for entry in step.entries)
        case Ask():
            return 0.0
        case Tasks():
            kinds = tuple(Kind.parse(entry.spec) for entry in step.entries)
            return tasks_seconds(TasksPlan(Work.parse(step.work), step.tasks, kinds, step.warmup, step.runs))
        case ThreadCost():
            start_s, each_s = _COST_S
            return len(step.entries) * step.rounds * sum(start_s + count * each_s for count in step.counts)


def _run_s(step: Load, entry: Entry, instance: Instance) -> float:
    prediction = prediction_of(step, entry, instance)
    asked_ms = re.search(r"[?&]ms=(\d+)", step.path)
    requests_s = max(step.n / _RATE_RPS, int(asked_ms[1]) / 1000 if asked_ms else 0.0)
    if prediction is not None and prediction.wall_ms is not None:
        requests_s = prediction.wall_ms / 1000
    elif prediction is not None and prediction.most_rps:
        requests_s = step.n / prediction.most_rps
    return _RUN_S + requests_s + (_RESENT_S if "accept-queue" in entry.predicted.causes else 0.0)
