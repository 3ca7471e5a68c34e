"""Carries a scenario's steps out, each by its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rig.build_cli import build_first
from rig.scenario.asks import carry_out_ask
from rig.scenario.choice import available
from rig.scenario.executors import carry_out_cost, carry_out_tasks
from rig.scenario.loads import carry_out_load
from rig.scenario.outcome import Outcome
from scenarios.scenario import Ask, Load, Scenario, Step, Tasks
from servers.catalog import Profile

Tell = Callable[[str], None]


def carry_out_steps(scenario: Scenario, catalog: Mapping[str, Profile], tell: Tell) -> Iterator[Outcome]:
    """The steps' outcomes, each as it ends; one that was interrupted is the last.

    `tell` is given a line for each entry that is left out, and why; a step of which all are is left out itself.

    Raises:
        servers.errors.ServersError: a server could not start.
        loadgen.errors.UsageError: a step does not fit this machine.
    """
    for step in scenario.steps:
        outcome = _carried_out(step, catalog, tell)
        if outcome is not None:
            yield outcome
            if outcome.interrupted:
                return


def _carried_out(step: Step, catalog: Mapping[str, Profile], tell: Tell) -> Outcome | None:
    if isinstance(step, Tasks):
        return carry_out_tasks(step, tell)
    if not isinstance(step, Load | Ask):
        return carry_out_cost(step)
    here = available(step, catalog)
    for line in here.left_out:
        tell(line)
    if not here.instances:
        return None
    build_first(here.instances)
    if isinstance(here.step, Load):
        return carry_out_load(here.step, here.instances)
    return carry_out_ask(here.step, here.instances)
