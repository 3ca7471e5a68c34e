"""What a sweep prints: rows as the steps end, the sentence, the JSON object, CSV rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from loadgen.plan import Plan
from loadgen.render.document import environment_data, plan_data
from loadgen.render.text import whole_ms
from loadgen.summary import Summary
from loadgen.sweep.result import Result
from loadgen.sweep.step import Step

SCHEMA: Final = "loadgen-sweep/1"

CSV_HEADER: Final = (
    "users", "rate_rps", "requests", "ok", "failed", "throughput_rps", "p50_ms", "p95_ms", "p99_ms",
    "client_cpu_percent", "kept_up", "trusted", "causes",
)  # fmt: skip
_WIDTHS: Final = (9, 10, 7, 7, 7, 7, 10)


def heading(plan: Plan) -> str:
    """The names of the columns."""
    level = "rate" if plan.workload.is_open else "users"
    return _row([level, "rps", "p50_ms", "p95_ms", "p99_ms", "failed", "client_cpu"], "why")


def row(step: Step, *, quiet: bool = False) -> str:
    """A step's row."""
    summary = step.run.summary
    cells = [
        step.level_words if step.is_rate else f"{step.level:,.0f}",
        f"{step.throughput_rps:,.0f}",
        *(whole_ms(_ns(summary, name)) for name in ("p50", "p95", "p99")),
        f"{summary.failed:,}",
        f"{step.run.use.cpu_percent:.0f}%",
    ]
    return _row(cells, "" if quiet else step.reason)


def csv_row(step: Step) -> tuple[Any, ...]:
    """A step, in the order of CSV_HEADER; no value is an empty cell."""
    summary = step.run.summary
    return (
        None if step.is_rate else int(step.level),
        step.level if step.is_rate else None,
        summary.requests,
        summary.ok,
        summary.failed,
        round(step.throughput_rps, 3),
        *(None if (ns := _ns(summary, name)) is None else round(ns / 1e6, 3) for name in ("p50", "p95", "p99")),
        round(step.run.use.cpu_percent, 1),
        None if step.kept_up is None else str(step.kept_up).lower(),
        str(step.run.trusted).lower(),
        " ".join(finding.cause for finding in step.run.findings),
    )


def document(plan: Plan, steps: Sequence[Step], result: Result, stopped: str | None) -> dict[str, Any]:
    """The whole object. `plan` is that of any level."""
    described = plan_data(plan)
    for of_a_level in ("requests", "concurrency", "stages"):
        del described[of_a_level]
    return {
        "schema": SCHEMA,
        "plan": described,
        "environment": environment_data(),
        "steps": [step.data() for step in steps],
        "stopped": stopped,
        "result": result.data(),
    }


def _row(cells: Sequence[str], last: str) -> str:
    columns = "  ".join(cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
    return f"{columns}  {last}".rstrip()


def _ns(summary: Summary, name: str) -> int | None:
    return None if summary.times is None else int(getattr(summary.times, f"{name}_ns"))
