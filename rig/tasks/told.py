"""The closing sentence: what the tasks went through, and why it took so long. Condition and reason, never a factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loadgen.explain import Finding
from loadgen.summary import NS_PER_MS
from rig.tasks.kinds import Kind
from rig.tasks.measure import ExecutorRuns, TasksRun
from rig.tasks.work import Work

_GOOD_PART: Final = 0.25


def closing_sentence(measured: Sequence[ExecutorRuns]) -> str | None:
    """`1,000 tasks that wait 100 ms went through 100 threads in 10 rounds, about 1.0 s; on asyncio the waits
    overlapped, about 0.1 s.` None where nothing was measured."""
    clauses = [_clause(entry) for entry in measured if entry.runs]
    if not clauses:
        return None
    plan = measured[0].plan
    begins = " " if clauses[0].startswith("went ") else ": "
    first, *others = clauses
    told = "; ".join([first, *(clause.removeprefix("went ") for clause in others)])
    return f"{plan.work.done_by(plan.tasks)}{begins}{told}."


def _clause(entry: ExecutorRuns) -> str:
    assert entry.middle is not None
    took = f"about {_spoken(entry.median_ms or 0.0)}{_submitting(entry.middle)}"
    kind, plan = entry.kind, entry.plan
    for finding in entry.middle.findings:
        match finding.cause:
            case "concurrency-limit":
                waves = len(finding.details["waves"])
                how = f"in {waves:,} rounds" if waves else f"{finding.details['limit']:,} at a time"
                return f"went through {kind.through} {how}, {took}"
            case "serial":
                return f"on {kind.through} one after another, {took}"
            case "overlapped":
                return f"on {kind.through} {_overlapped(kind, plan.work)}, {took}"
            case "cpu-shared":
                return f"on {kind.through} {_shared(kind, finding)}, {took}"
    return f"on {kind.through} {took}"


def _submitting(run: TasksRun) -> str:
    """How much of it submitting took, where that is a good part: threads are made meanwhile."""
    took_ns = run.summary.release_ns or 0
    return f", {_spoken(took_ns / NS_PER_MS)} of it to submit them" if took_ns > _GOOD_PART * run.wall_ns else ""


def _overlapped(kind: Kind, work: Work) -> str:
    if work.waits:
        return "the waits overlapped"
    return "they took turns under one interpreter lock" if kind.is_locked else "all ran at once"


def _shared(kind: Kind, finding: Finding) -> str:
    cores = finding.evidence.get("server_cores")
    if cores is None:
        return "they shared the CPU"
    busy = f"they kept {cores:.1f} of {finding.evidence['cpus']} CPUs busy"
    return f"{busy}, for one interpreter lock lets one compute at a time" if kind.is_locked else busy


def _spoken(ms: float) -> str:
    return f"{ms / 1000:,.1f} s" if ms >= 95 else f"{ms:.1f} ms"
