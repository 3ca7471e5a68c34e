"""The JSON form, as plain data. Its schema is docs/output.md."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from loadgen.distribute.crew import Skew
from loadgen.explain import Finding
from loadgen.explain.runs import over_runs
from loadgen.kernel import available_cpus
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Target
from loadgen.redaction import Redaction
from loadgen.run import Run
from loadgen.summary import Second, Summary, TargetSummary, Times, in_ms

SCHEMA: Final = "loadgen/1"


def document(plan: Plan, runs: list[Run]) -> dict[str, Any]:
    """The whole object: plan, environment, runs."""
    return {
        "schema": SCHEMA,
        "plan": plan_data(plan),
        "environment": environment_data(),
        "runs": [run_data(run, plan) for run in runs],
        "all_runs": over_runs([run.findings for run in runs]) if len(runs) > 1 else [],
    }


def plan_data(plan: Plan) -> dict[str, Any]:
    """What was asked for. Secrets are left out."""
    workload, redaction = plan.workload, Redaction(plan.redact)
    return {
        **_target_data(plan.target, redaction),
        "targets": [{**_target_data(share.target, redaction), "weight": share.weight} for share in plan.mix],
        "requests": workload.requests,
        "concurrency": workload.concurrency,
        "kind": "open" if workload.is_open else "burst" if workload.is_burst else "closed",
        "stages": [[stage.duration_s, stage.first, stage.last] for stage in workload.stages],
        "arrivals": ("poisson" if workload.poisson else "constant") if workload.is_open else None,
        "seed": workload.seed,
        "think_s": workload.think_s,
        "keepalive": workload.keepalive,
        "preconnect": workload.preconnect,
        "timeout_s": workload.timeout_s,
        "connect_timeout_s": workload.connect_timeout_s,
        "runs": plan.runs,
        "warmup": plan.warmup,
        "pause_s": plan.pause_s,
        "over_ms": plan.over_ms,
        "engine": plan.engine,
        "http2": plan.http2,
        "server_timing": plan.server_timing,
        "objectives": [objective.text for objective in plan.objectives],
        "workers": plan.workers,
        "scheduler": plan.scheduler,
    }


def _target_data(target: Target, redaction: Redaction) -> dict[str, Any]:
    return {
        "url": redaction.text(target.url),
        "method": target.method,
        "headers": redaction.headers(target.headers),
        "body_bytes": len(target.body),
    }


def environment_data() -> dict[str, Any]:
    """Where it was measured."""
    return {
        "loadrig": _version("loadrig"),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "uvloop": _version("uvloop"),
        "os": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": available_cpus(),
    }


def run_data(run: Run, plan: Plan) -> dict[str, Any]:
    """One run of a plan; a figure that has no value is None."""
    summary, all_cpu = run.summary, run.use.all_cpu_percent
    return {
        "run": run.number,
        "address": run.address,
        "requests": summary.requests,
        "concurrency": summary.concurrency,
        "ok": summary.ok,
        "failed": summary.failed,
        "failures": _failures(summary.failures),
        "statuses": {str(status): count for status, count in summary.statuses.items()},
        "wall_ms": _ms(summary.wall_ns),
        **_times_or_none(summary.times),
        "percentiles": "exact" if summary.is_exact else "histogram",
        "over_ms": summary.over_ms,
        "over": summary.over,
        "service": times_data(summary.service),
        "lateness": None
        if summary.lateness is None
        else {
            "p50_ms": _ms(summary.lateness.p50_ns),
            "p99_ms": _ms(summary.lateness.p99_ns),
            "max_ms": _ms(summary.lateness.max_ns),
        },
        "release_ms": _ms(summary.release_ns),
        "resent": summary.resent,
        "throughput_rps": None if summary.throughput_rps is None else round(summary.throughput_rps, 3),
        "bytes_in": summary.bytes_in,
        "server_timing": server_timing_data(summary),
        "with_server_timing": summary.with_server_timing,
        "trusted": run.trusted,
        "interrupted": run.interrupted,
        "seconds": [second_data(second) for second in summary.seconds],
        "client": {
            "cpu_percent": round(run.use.cpu_percent, 1),
            "loop_lag_p99_ms": round(run.use.loop_lag_p99_ms, 3),
            "loop_lag_max_ms": round(run.use.loop_lag_max_ms, 3),
            "workers": run.use.workers,
            "all_cpu_percent": round(run.use.cpu_percent if all_cpu is None else all_cpu, 1),
            "lost_workers": run.use.lost_workers,
        },
        "targets": [_target_figures(number, figures) for number, figures in enumerate(summary.targets, start=1)],
        "cluster": None if run.skew is None else cluster_data(run.skew),
        "resources": None if run.resources is None else run.resources.data(),
        "findings": [finding_data(finding) for finding in run.findings],
        "objectives": [verdict.data() for verdict in run.verdicts(plan.objectives)],
    }


def cluster_data(skew: Skew) -> dict[str, Any]:
    """Whose workers carried a run out, and how far they were from one moment."""
    return {
        "scheduler": skew.scheduler,
        "workers": skew.workers,
        "clock_uncertainty_ms": _ms(skew.clock_uncertainty_ns),
        "release_spread_ms": _ms(skew.release_spread_ns),
    }


def _target_figures(number: int, figures: TargetSummary) -> dict[str, Any]:
    return {
        "target": number,
        "requests": figures.requests,
        "ok": figures.ok,
        "failed": figures.failed,
        "failures": _failures(figures.failures),
        **_times_or_none(figures.times),
    }


_TIMES: Final = ("min", "p50", "p90", "p95", "p99", "max", "mean")


def times_data(times: Times | None) -> dict[str, float | None] | None:
    """Times in ms by their names: min_ms, p50_ms, ..."""
    return None if times is None else {f"{name}_ms": _ms(getattr(times, f"{name}_ns")) for name in _TIMES}


def _times_or_none(times: Times | None) -> dict[str, float | None]:
    return dict.fromkeys([f"{name}_ms" for name in _TIMES]) | (times_data(times) or {})


def _failures(failures: Mapping[Outcome, int]) -> dict[str, int]:
    return {outcome.label: count for outcome, count in failures.items()}


def server_timing_data(summary: Summary) -> dict[str, Any]:
    """The server's own figures by metric."""
    return {
        name: {"p50_ms": _ms(took.p50_ns), "p99_ms": _ms(took.p99_ns), "max_ms": _ms(took.max_ns), "count": took.count}
        for name, took in summary.server_timing.items()
    }


def second_data(second: Second) -> dict[str, Any]:
    """One second of a run."""
    return {
        "second": second.number,
        "ok": second.ok,
        "failed": second.failed,
        "p50_ms": _ms(second.p50_ns),
        "p99_ms": _ms(second.p99_ns),
        "max_ms": _ms(second.max_ns),
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding, its details beside the fixed keys."""
    return {
        "cause": finding.cause,
        "requests": finding.requests,
        **finding.details,
        "sentence": finding.sentence,
        "evidence": finding.evidence,
    }


def _ms(ns: float | None) -> float | None:
    return None if ns is None else in_ms(ns)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
