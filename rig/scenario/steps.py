"""Carries a scenario's steps out, each by its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from loadgen.errors import CapacityError, LoadgenError
from rig.build_cli import build_first
from rig.scenario.asks import carry_out_ask
from rig.scenario.choice import available
from rig.scenario.executors import carry_out_cost, carry_out_tasks, check_cost, check_tasks
from rig.scenario.loads import carry_out_load, plan_of
from rig.scenario.outcome import Outcome
from scenarios.errors import ScenarioError
from scenarios.scenario import Ask, Load, Scenario, Step, Tasks
from servers.catalog import Profile, parse_spec
from servers.errors import ServersError

Tell = Callable[[str], None]


def check_steps(scenario: Scenario, catalog: Mapping[str, Profile]) -> None:
    """Sees, before the first step is carried out, that all are meant as something that can be.

    Raises:
        ScenarioError: one is not.
    """
    for step in scenario.steps:
        try:
            _check(step, catalog)
        except CapacityError:
            continue  # of this machine, not of the file: said when it is the step's turn
        except (LoadgenError, ServersError) as error:
            raise ScenarioError(f"{scenario.name}.toml: {step.title}: {error}") from None


def _check(step: Step, catalog: Mapping[str, Profile]) -> None:
    if isinstance(step, Tasks):
        check_tasks(step)
        return
    if not isinstance(step, Load | Ask):
        check_cost(step)
        return
    for entry in step.entries:
        if entry.spec.partition(":")[0] in catalog:
            parse_spec(entry.spec, catalog)
    if isinstance(step, Load):
        plan_of(step, "http://127.0.0.1")


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
