"""Tasks on executors without HTTP, and what threads cost: carried out and printed by `rig.tasks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadgen.errors import LoadgenError
from rig.scenario.judge import Seen, Verdict
from rig.scenario.outcome import Row, cost_row, row_of
from rig.tasks.cost import Cost, check_cost_plan, cost_data, cost_lines, costs
from rig.tasks.errors import TasksError
from rig.tasks.kinds import Kind
from rig.tasks.measure import ExecutorRuns, Measurement, TasksPlan, disagreement
from rig.tasks.render import tasks_data, tasks_lines
from rig.tasks.work import Work
from scenarios.scenario import Entry, Tasks, ThreadCost
from scenarios.theory import predict

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TasksOutcome:
    """Tasks as far as they were carried out. See `Outcome`."""

    step: Tasks
    executors: Sequence[ExecutorRuns]
    """One an entry of the step, in that order."""
    interrupted: bool

    @property
    def measured(self) -> bool:
        """See `Outcome`."""
        return any(executor.runs for executor in self.executors)

    def lines(self, *, quiet: bool) -> Iterator[str]:
        """See `Outcome`."""
        yield self.step.title
        yield from tasks_lines(self.executors, quiet=quiet)
        yield ""

    def rows(self) -> Iterator[Row]:
        """See `Outcome`."""
        differ = disagreement(self.executors)
        for entry, executor in zip(self.step.entries, self.executors, strict=True):
            if self.interrupted and not executor.runs:
                continue
            prediction = predict(
                entry.predicted,
                n=self.step.tasks,
                concurrency=self.step.tasks,
                service_ms=self.step.service_ms,
                limit=executor.kind.workers or None,
                networked=False,
            )
            seen = [Seen.of(run.summary, run.findings, run.samples) for run in executor.runs]
            row = row_of(self.step, entry, prediction, seen, executor.kind.terms)
            yield row if differ is None else replace(row, verdict=Verdict.FAILED, sentence=differ)

    def data(self) -> dict[str, Any]:
        """See `Outcome`."""
        measured = tasks_data(self.executors[0].plan, self.executors)
        return {
            "kind": "tasks",
            "title": self.step.title,
            "plan": measured["plan"],
            "executors": measured["executors"],
            "sentence": measured["sentence"],
        }


@dataclass(frozen=True, slots=True)
class CostOutcome:
    """What threads and the like cost. See `Outcome`."""

    step: ThreadCost
    costs: Sequence[Cost]
    interrupted: bool

    @property
    def measured(self) -> bool:
        """See `Outcome`."""
        return bool(self.costs)

    def lines(self, *, quiet: bool) -> Iterator[str]:
        """See `Outcome`."""
        yield from cost_lines(self.costs, quiet=quiet)
        yield ""

    def rows(self) -> Iterator[Row]:
        """See `Outcome`."""
        for entry in self.step.entries:
            costs = [cost for cost in self.costs if cost.kind == entry.spec]
            if costs or not self.interrupted:
                yield cost_row(self.step, entry, costs)

    def data(self) -> dict[str, Any]:
        """See `Outcome`."""
        costs = cost_data(self.costs)["costs"]
        return {"kind": "thread_cost", "title": self.step.title, "costs": costs}


def check_tasks(step: Tasks) -> None:
    """Sees that the work, the executors and the numbers are accepted.

    Raises:
        loadgen.errors.UsageError: they are not.
    """
    _plan(step, Work.parse(step.work), *(Kind.parse(entry.spec) for entry in step.entries))


def check_cost(step: ThreadCost) -> None:
    """Sees that the kinds and the numbers are accepted.

    Raises:
        loadgen.errors.UsageError: they are not, or there is no room for so many.
    """
    check_cost_plan(step.counts, [entry.spec for entry in step.entries], step.rounds)


def carry_out_tasks(step: Tasks, tell: Tell) -> TasksOutcome | None:
    """Carries the tasks out on those executors that can be had here; None where none can. `tell` is told which cannot.

    Raises:
        loadgen.errors.UsageError: the work, or an executor, is not accepted.
    """
    entries: list[Entry] = []
    kinds: list[Kind] = []
    work = Work.parse(step.work)
    for entry in step.entries:
        kind = Kind.parse(entry.spec)
        try:
            Measurement(_plan(step, work, kind))
        except (TasksError, LoadgenError) as error:
            tell(f"left out: {entry.spec}: {error}")
        else:
            entries.append(entry)
            kinds.append(kind)
    if not kinds:
        return None
    with Measurement(_plan(step, work, *kinds)) as measurement:
        interrupted = False
        try:
            measurement.carry_out()
        except KeyboardInterrupt:
            interrupted = True
        except TasksError as error:  # what was measured until then is shown
            tell(f"{step.title} ended early: {error}")
    return TasksOutcome(replace(step, entries=tuple(entries)), measurement.measured, interrupted)


def carry_out_cost(step: ThreadCost) -> CostOutcome:
    """Measures what each kind costs.

    Raises:
        loadgen.errors.UsageError: a kind is not accepted, or there is no room for so many.
        rig.tasks.errors.TasksError: so many could not be made.
    """
    measured: list[Cost] = []
    interrupted = False
    try:
        measured.extend(costs(step.counts, [entry.spec for entry in step.entries], step.rounds))
    except KeyboardInterrupt:
        interrupted = True
    return CostOutcome(step, measured, interrupted)


def _plan(step: Tasks, work: Work, *kinds: Kind) -> TasksPlan:
    return TasksPlan(work, step.tasks, kinds, step.warmup, step.runs)
