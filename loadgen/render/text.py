"""The text form: one line a run, then why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadgen.explain import Finding
from loadgen.explain.runs import over_runs
from loadgen.plan import Plan
from loadgen.runner import Run
from loadgen.summary import NS_PER_MS, Summary


def whole_ms(ns: float | None) -> str:
    """Milliseconds, rounded half up; `n/a` for no value."""
    return "n/a" if ns is None else str(int(ns / NS_PER_MS + 0.5))


def metrics_line(summary: Summary) -> str:
    """The line that other programs read: its keys and their order are fixed, further ones may follow."""
    times = summary.times
    shown = {
        "requests": summary.requests,
        "concurrency": summary.concurrency,
        "ok": summary.ok,
        "failed": summary.failed,
        "wall_ms": whole_ms(summary.wall_ns),
        "min_ms": whole_ms(times.min_ns if times else None),
        "p50_ms": whole_ms(times.p50_ns if times else None),
        "max_ms": whole_ms(times.max_ns if times else None),
        f"over{summary.over_ms}ms": summary.over,
    }
    return " ".join(f"{key}={value}" for key, value in shown.items())


def failed_line(summary: Summary) -> str:
    """The classes of the failed requests, most frequent first."""
    ordered = sorted(summary.failures.items(), key=lambda item: (-item[1], item[0]))
    return "failed: " + " ".join(f"{outcome.label}={count}" for outcome, count in ordered)


def run_heading(plan: Plan, run: Run) -> str:
    """The line before a run."""
    return f"-- N={plan.workload.requests} run {run.number}"


def run_lines(plan: Plan, run: Run, *, quiet: bool = False) -> Iterator[str]:
    """All lines of a run."""
    yield run_heading(plan, run)
    yield metrics_line(run.summary)
    if run.summary.failures:
        yield failed_line(run.summary)
    if not quiet:
        for finding in run.findings:
            yield f"why: {finding.sentence}"


def all_runs_lines(plan: Plan, runs: Sequence[tuple[Finding, ...]]) -> Iterator[str]:
    """What held in each of several runs, and what came and went; nothing for a single one."""
    if len(runs) > 1 and any(runs):
        yield f"-- N={plan.workload.requests} all {len(runs)} runs"
        for sentence in over_runs(runs):
            yield f"why: {sentence}"
