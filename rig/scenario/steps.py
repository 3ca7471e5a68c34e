"""Carries a scenario's steps out, each by its kind."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import groupby

from loadgen.errors import CapacityError, LoadgenError
from rig.build_cli import build_first
from rig.scenario.asks import carry_out_ask
from rig.scenario.choice import available
from rig.scenario.executors import carry_out_cost, carry_out_tasks, check_cost, check_tasks
from rig.scenario.loads import Beside, carry_out_load, check_load, plan_of
from rig.scenario.outcome import Outcome
from scenarios.errors import ScenarioError
from scenarios.scenario import Ask, Load, Scenario, Step, Tasks, ThreadCost
from servers.catalog import Instance, Profile, parse_spec
from servers.errors import ServersError
from servers.process import RunningServer, spawn

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
        parse_spec(entry.spec, catalog)  # what is misspelt is not left out, as a missing runtime is
    if isinstance(step, Load):
        plan_of(step, "http://127.0.0.1")


def same_servers(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps, those together of which each is carried out at the servers of the one before.

    These are loads that differ in nothing but how many are in flight.
    """
    return [list(group) for _, group in groupby(steps, key=_without_concurrency)]


def _without_concurrency(step: Step) -> Step:
    return replace(step, concurrency=0) if isinstance(step, Load) else step


def carry_out_steps(
    scenario: Scenario, catalog: Mapping[str, Profile], tell: Tell, beside: Beside
) -> Generator[Outcome, None, None]:
    """The steps' outcomes, each as it ends; one that was interrupted is the last. Closing it stops the servers.

    `tell` is given a line for each entry that is left out, and why; a step of which all are is left out itself.

    Raises:
        servers.errors.ServersError: a server could not start.
        loadgen.errors.UsageError: a step does not fit this machine.
    """
    for steps in same_servers(scenario.steps):
        for outcome in _carried_out(steps, catalog, tell, beside):
            yield outcome
            if outcome.interrupted:
                return


def _carried_out(
    steps: Sequence[Step], catalog: Mapping[str, Profile], tell: Tell, beside: Beside
) -> Iterator[Outcome]:
    first = steps[0]
    if isinstance(first, Tasks):
        tasks = carry_out_tasks(first, tell)
        if tasks is not None:
            yield tasks
    elif isinstance(first, ThreadCost):
        yield carry_out_cost(first)
    else:
        yield from _at_servers(steps, catalog, tell, beside)


def _at_servers(steps: Sequence[Step], catalog: Mapping[str, Profile], tell: Tell, beside: Beside) -> Iterator[Outcome]:
    here = [available(step, catalog) for step in steps if isinstance(step, Load | Ask)]
    instances = here[0].instances
    for line in here[0].left_out:
        tell(line)
    if not instances:
        return
    for each in here:
        if isinstance(each.step, Load):
            check_load(each.step)  # found out before a server starts
    build_first(instances)
    with _running(instances, beside) as servers:
        for each in here:
            if isinstance(each.step, Load):
                yield carry_out_load(each.step, servers, beside)
            else:
                yield carry_out_ask(each.step, servers)


@contextmanager
def _running(instances: Sequence[Instance], beside: Beside) -> Iterator[list[RunningServer]]:
    """Servers of these, started at the same time, when all are ready."""
    with ExitStack() as stack:
        servers = [stack.enter_context(spawn(instance, log_path=beside.log_path(instance))) for instance in instances]
        yield [server.wait_ready() for server in servers]
