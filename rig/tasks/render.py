"""What a measurement of tasks prints: a line an executor, the JSON object, or CSV rows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from loadgen.explain.runs import over_runs
from loadgen.render.document import environment_data, finding_data
from loadgen.store import CSV_HEADER, csv_rows
from loadgen.summary import NS_PER_MS
from rig.tasks.measure import ExecutorRuns, TasksPlan, TasksRun
from rig.tasks.told import closing_sentence

SCHEMA: Final = "tasks/1"

ROWS_HEADER: Final = ("executor", *CSV_HEADER)


def tasks_lines(measured: Sequence[ExecutorRuns], *, quiet: bool = False) -> Iterator[str]:
    """Each executor's line and why, then the sentence over all; nothing of those without runs."""
    there = [entry for entry in measured if entry.runs]
    width = max((len(entry.kind.name) for entry in there), default=0)
    for entry in there:
        yield _line(entry, width)
        if not quiet:
            yield from _why(entry)
    sentence = closing_sentence(measured)
    if sentence is not None and not quiet:
        yield sentence


def tasks_data(plan: TasksPlan, measured: Sequence[ExecutorRuns]) -> dict[str, Any]:
    """The JSON object."""
    return {
        "schema": SCHEMA,
        "environment": environment_data(),
        "plan": {
            "work": str(plan.work),
            "tasks": plan.tasks,
            "on": [kind.spec for kind in plan.kinds],
            "warmup": plan.warmup,
            "runs": plan.runs,
            "over_ms": plan.over_ms,
        },
        "executors": [
            {
                "executor": entry.kind.spec,
                "name": entry.kind.name,
                "median_ms": _rounded(entry.median_ms),
                "throughput_tps": _rounded(entry.throughput),
                "runs": [_run_data(run) for run in entry.runs],
            }
            for entry in measured
        ],
        "sentence": closing_sentence(measured),
    }


def rows(measured: Sequence[ExecutorRuns]) -> Iterator[tuple[Any, ...]]:
    """One row a task, in the order of ROWS_HEADER."""
    for entry in measured:
        for run in entry.runs:
            for row in csv_rows(run.number, run.samples):
                yield (entry.kind.spec, *row)


def _line(entry: ExecutorRuns, width: int) -> str:
    walls = ", ".join(f"{run.wall_ns / NS_PER_MS:.2f}" for run in entry.runs)
    return (
        f"{entry.plan.work.label} / {entry.kind.name.ljust(width)}  median={entry.median_ms:8.2f} ms,"
        f" throughput={entry.throughput:8.1f} tasks/s, all=[{walls}]"
    )


def _why(entry: ExecutorRuns) -> Iterator[str]:
    """The sentences of the run in the middle; and what held over all runs, where they were not of the same causes."""
    assert entry.middle is not None
    for finding in entry.middle.findings:
        yield f"why: {finding.sentence}"
    if len({tuple(finding.cause for finding in run.findings) for run in entry.runs}) > 1:
        for sentence in over_runs([run.findings for run in entry.runs], entry.kind.terms):
            yield f"why: {sentence}"


def _run_data(run: TasksRun) -> dict[str, Any]:
    """One run, named as a run of requests is where the meaning is the same."""
    summary, times = run.summary, run.summary.times
    return {
        "run": run.number,
        "tasks": summary.requests,
        "ok": summary.ok,
        "failed": summary.failed,
        "wall_ms": _rounded(run.wall_ns / NS_PER_MS),
        **{
            f"{name}_ms": _rounded(None if times is None else getattr(times, f"{name}_ns") / NS_PER_MS)
            for name in ("min", "p50", "p90", "p95", "p99", "max", "mean")
        },
        "over_ms": summary.over_ms,
        "over": summary.over,
        "submit_ms": _rounded(None if summary.release_ns is None else summary.release_ns / NS_PER_MS),
        "throughput_tps": _rounded(summary.throughput_rps),
        "cpu_s": _rounded(run.cpu_s),
        "result": run.checksum,
        "findings": [finding_data(finding) for finding in run.findings],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
