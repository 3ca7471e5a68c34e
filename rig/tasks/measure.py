"""TasksPlan -> ExecutorRuns: the executors in turns, first run of each, second of each.

A run lasts from before the executor is made until it is closed. Its rows are Samples: due when a task was submitted,
begun when a worker began to work on it, done when that ended. Findings look at an executor as at a server, from
outside, and are told besides when the work began.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median, median_low
from typing import Any, Final

import numpy as np

from loadgen.errors import UsageError
from loadgen.explain import Evidence, Finding, ServerView, explain
from loadgen.kernel import available_cpus
from loadgen.outcome import Outcome
from loadgen.run import WARMUP
from loadgen.samples import MISSING, Samples
from loadgen.summary import NS_PER_MS, NS_PER_S, Summary, summarize
from rig.tasks.hosting import Child
from rig.tasks.kinds import Kind
from rig.tasks.room import check_room
from rig.tasks.work import Work

MOST_TASKS: Final = 100_000
MOST_RUNS: Final = 1_000

Progress = Callable[[str], None]
"""Told what begins now."""


@dataclass(frozen=True, slots=True)
class TasksPlan:
    """What to do: the same tasks on each executor."""

    work: Work
    tasks: int
    kinds: tuple[Kind, ...]
    warmup: int = 3
    """Runs of each carried out first and not counted."""
    runs: int = 7
    over_ms: int = 1500
    """A task is late above this response time."""

    def __post_init__(self) -> None:
        if not 1 <= self.tasks <= MOST_TASKS:
            raise UsageError(f"{self.tasks} tasks are not accepted: --tasks takes 1 to {MOST_TASKS}")
        if not self.kinds:
            raise UsageError("no executor is named: --on takes a list, as in pool:100,asyncio")
        if not 1 <= self.runs <= MOST_RUNS:
            raise UsageError(f"{self.runs} runs are not accepted: --runs takes 1 to {MOST_RUNS}")
        if not 0 <= self.warmup <= MOST_RUNS:
            raise UsageError(f"{self.warmup} warm-up runs are not accepted: --warmup takes 0 to {MOST_RUNS}")


@dataclass(frozen=True, slots=True)
class TasksRun:
    """One run of one executor, and what follows from it."""

    number: int
    wall_ns: int
    """From before the executor was made until it was closed."""
    checksum: int
    """The sum of the tasks' results."""
    cpu_s: float | None
    """CPU seconds of the processes that carried it out; None where that could not be seen."""
    samples: Samples
    evidence: Evidence
    summary: Summary
    findings: tuple[Finding, ...]

    def explained_beside(self, lone_ns: int) -> TasksRun:
        """The same run, explained again with what a task alone takes."""
        evidence = replace(self.evidence, server=replace(self.evidence.server, lone_ns=lone_ns))
        return replace(self, evidence=evidence, findings=explain(evidence))


@dataclass(frozen=True, slots=True)
class ExecutorRuns:
    """An executor and its runs so far."""

    kind: Kind
    plan: TasksPlan
    runs: list[TasksRun] = field(default_factory=list)

    @property
    def median_ms(self) -> float | None:
        """The wall in the middle; None without runs."""
        return median(run.wall_ns for run in self.runs) / NS_PER_MS if self.runs else None

    @property
    def throughput(self) -> float | None:
        """Tasks a second of the median wall."""
        return self.plan.tasks / median(run.wall_ns for run in self.runs) * NS_PER_S if self.runs else None

    @property
    def middle(self) -> TasksRun | None:
        """The run whose wall is in the middle; of an even number, the quicker of the two."""
        if not self.runs:
            return None
        wall = median_low(run.wall_ns for run in self.runs)
        return next(run for run in self.runs if run.wall_ns == wall)


class Measurement:
    """The executors' processes, and the runs in them. A context manager that ends all it started.

    Attributes:
        measured: one entry an executor, in the order given; each fills as `carry_out` goes on.
    """

    def __init__(self, plan: TasksPlan) -> None:
        """Checks that this machine and this Python can do it.

        Raises:
            CapacityError: there is no room for so many threads.
            Unavailable: something that an executor needs is not here.
        """
        for kind in plan.kinds:
            kind.check_available()
            check_room(kind.spec, kind.threads_for(plan.tasks))
        self.measured = [ExecutorRuns(kind, plan) for kind in plan.kinds]
        self._plan = plan
        self._stack = ExitStack()

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def carry_out(self, progress: Progress | None = None) -> None:
        """Carries all runs out.

        A JVM goes on from one run to the next by itself; so Java's executors come after the others, one by one.

        Raises:
            TasksError: a process failed.
            servers.errors.ProgramError: Java's program could not be built, or failed.
        """
        tell = progress or (lambda _: None)
        if any(entry.kind.is_java for entry in self.measured):
            from servers.java.tasks import TASKS_BUILD

            TASKS_BUILD.make(tell)  # first: nothing that was measured is lost where it cannot be
        here = [entry for entry in self.measured if not entry.kind.is_java]
        children = [self._started(entry.kind) for entry in here]
        for child in children:
            child.answer()  # it is ready
        for number in [WARMUP] * self._plan.warmup + list(range(1, self._plan.runs + 1)):
            for entry, child in zip(here, children, strict=True):
                tell(_now(entry.kind, number))
                run = self._run(entry.kind, number, json.loads(child.ask(str(self._plan.tasks))))
                if number != WARMUP:
                    entry.runs.append(run)
        for entry, child in zip(here, children, strict=True):
            _hold_against_lone(entry, child)
        for entry in self.measured:
            if entry.kind.is_java:
                self._carry_out_java(entry, tell)

    def _started(self, kind: Kind) -> Child:
        return self._stack.enter_context(Child("rig.tasks.child", str(self._plan.work), kind.spec))

    def _carry_out_java(self, entry: ExecutorRuns, tell: Progress) -> None:
        from servers.java.tasks import run_java_tasks

        plan, executor = self._plan, entry.kind.spec.removeprefix("java:")
        tell(_now(entry.kind, WARMUP if plan.warmup else 1))
        runs = run_java_tasks(plan.work.plain, plan.tasks, executor, plan.warmup, plan.runs)
        for number, run in enumerate(runs, 1):
            answer = {
                "wall_ns": run.wall_ns,
                "checksum": run.checksum,
                "cpu_s": None,
                "due_ns": [0] * plan.tasks,
                "begun_ns": run.begun_ns,
                "done_ns": run.done_ns,
            }
            entry.runs.append(self._run(entry.kind, number, answer))
            if number < plan.runs:
                tell(_now(entry.kind, number + 1))

    def _run(self, kind: Kind, number: int, answer: dict[str, Any]) -> TasksRun:
        samples = _samples(answer["due_ns"], answer["begun_ns"], answer["done_ns"])
        # As a client sees it: whoever submits has begun, and the executor is what answers.
        outside = replace(samples, begun=samples.due)
        tasks, over_ms = self._plan.tasks, self._plan.over_ms
        evidence = Evidence(
            samples=outside,
            concurrency=tasks,
            over_ms=over_ms,
            server=self._view(answer["cpu_s"]),
            cpus=available_cpus(),
            started=samples.begun,
            terms=replace(kind.terms, waits=self._plan.work.waits),
        )
        summary = replace(summarize(outside, concurrency=tasks, over_ms=over_ms), wall_ns=answer["wall_ns"])
        return TasksRun(
            number=number,
            wall_ns=answer["wall_ns"],
            checksum=answer["checksum"],
            cpu_s=answer["cpu_s"],
            samples=samples,
            evidence=evidence,
            summary=summary,
            findings=explain(evidence),
        )

    def _view(self, cpu_s: float | None) -> ServerView:
        """What findings may know of the executor.

        How long a wait lasts is known, and what CPU goes with it is for making and closing, not for the tasks. Of one
        that spins it is known too that it needs the CPU for all that time.
        """
        work = self._plan.work
        if not work.is_timed:
            return ServerView(cpu_s=cpu_s)
        lone_ns = round(work.time_s * NS_PER_S)
        return (
            ServerView(lone_ns=lone_ns)
            if work.waits
            else ServerView(cpu_s=cpu_s, lone_ns=lone_ns, lone_cpu_s=work.time_s)
        )


def measure_tasks(plan: TasksPlan, progress: Progress | None = None) -> list[ExecutorRuns]:
    """The executors' runs, in the order of the plan.

    Raises:
        UsageError: it does not fit this machine.
        TasksError: an executor is not to be had here, or its process failed.
    """
    with Measurement(plan) as measurement:
        measurement.carry_out(progress)
    return measurement.measured


def disagreement(measured: Sequence[ExecutorRuns]) -> str | None:
    """What is wrong, where two runs did not come to the same result; None where all did the same work."""
    runs = [(entry.kind, run) for entry in measured for run in entry.runs]
    for kind, run in runs[1:]:
        first_kind, first = runs[0]
        if run.checksum != first.checksum:
            return (
                f"the results differ: run {first.number} on {first_kind.name} came to {first.checksum},"
                f" run {run.number} on {kind.name} to {run.checksum}; they did not do the same work"
            )
    return None


def _hold_against_lone(entry: ExecutorRuns, child: Child) -> None:
    """Where tasks shared the CPU, carries out one alone and explains the runs anew beside it: by how much, then."""
    if entry.plan.work.is_timed or not any(f.cause == "cpu-shared" for run in entry.runs for f in run.findings):
        return
    lone = json.loads(child.ask("1"))
    lone_ns = lone["done_ns"][0] - lone["begun_ns"][0]
    entry.runs[:] = [run.explained_beside(lone_ns) for run in entry.runs]


def _samples(due_ns: Sequence[int], begun_ns: Sequence[int], done_ns: Sequence[int]) -> Samples:
    """Rows of tasks that all came to their end; what only a connection has is missing."""
    tasks = len(due_ns)

    def all_of(value: int, dtype: type[Any]) -> Any:
        return np.full(tasks, value, dtype=dtype)

    return Samples(
        due=np.array(due_ns, dtype=np.int64),
        begun=np.array(begun_ns, dtype=np.int64),
        connected=all_of(MISSING, np.int64),
        first_byte=all_of(MISSING, np.int64),
        done=np.array(done_ns, dtype=np.int64),
        bytes_in=all_of(0, np.int64),
        status=all_of(MISSING, np.int16),
        outcome=all_of(Outcome.OK, np.int8),
        reused=all_of(0, np.int8),
        resent=all_of(MISSING, np.int16),
        target=all_of(0, np.int16),
    )


def _now(kind: Kind, number: int) -> str:
    return f"{kind.name} {'warm-up' if number == WARMUP else f'run {number}'}"
