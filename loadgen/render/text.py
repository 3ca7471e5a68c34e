"""The text form: one line a run, then why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadgen.distribute.crew import Skew
from loadgen.explain import Finding
from loadgen.explain.runs import over_runs
from loadgen.objective import verdict_lines
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Stage, Workload
from loadgen.redaction import Redaction
from loadgen.run import Run
from loadgen.summary import NS_PER_MS, Summary, TargetSummary, in_ms

_SAME = 0.05
"""Service and response times that differ by no more are shown once."""
_MOST_TARGETS = 20
"""Lines of targets that a reader takes in."""


def whole_ms(ns: float | None) -> str:
    """Milliseconds, rounded half up; `n/a` for no value."""
    return "n/a" if ns is None else str(int(in_ms(ns) + 0.5))


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
    if not summary.is_burst:  # of a load that goes on, more is asked than of a burst
        rate = summary.throughput_rps
        shown["p95_ms"] = whole_ms(times.p95_ns if times else None)
        shown["p99_ms"] = whole_ms(times.p99_ns if times else None)
        shown["rps"] = "n/a" if rate is None else f"{round(rate, 3):.0f}"
    if summary.lateness is not None:
        shown["lateness_p99_ms"] = f"{summary.lateness.p99_ns / NS_PER_MS:.3f}"
    return " ".join(f"{key}={value}" for key, value in shown.items())


def server_timing_line(summary: Summary) -> str:
    """The server's own figures, each metric's beside the other's."""
    metrics = [
        f"{name} p50={whole_ms(took.p50_ns)} p99={whole_ms(took.p99_ns)} max={whole_ms(took.max_ns)}"
        for name, took in summary.server_timing.items()
    ]
    counted = f"{summary.with_server_timing} of {summary.ok} responses"
    return f"server timing: {', '.join(metrics)} (ms, {counted})" if metrics else f"server timing: none ({counted})"


def failed_line(summary: Summary) -> str:
    """The classes of the failed requests, most frequent first."""
    return f"failed: {_failure_counts(summary.failures)}"


def _failure_counts(failures: Mapping[Outcome, int]) -> str:
    ordered = sorted(failures.items(), key=lambda item: (-item[1], item[0]))
    return " ".join(f"{outcome.label}={count}" for outcome, count in ordered)


def target_words(plan: Plan) -> str:
    """What is asked for, in short: a method and a URL, or how many targets of which server."""
    if plan.mix:
        return f"{len(plan.mix):,} targets of {plan.target.origin}"
    return f"{plan.target.method} {plan.target.url}"


def target_lines(plan: Plan, summary: Summary) -> Iterator[str]:
    """A line for each target, where there are several; of very many, the first ones."""
    hide = Redaction(plan.redact).text
    for number, (target, figures) in enumerate(zip(plan.targets, summary.targets, strict=False), start=1):
        if number > _MOST_TARGETS:
            yield f"targets {number} to {len(summary.targets)}: in --output-format json"
            return
        yield f"target {number} {target.method} {hide(target.path)}: {_target_figures(figures)}"


def _target_figures(figures: TargetSummary) -> str:
    times = figures.times
    shown = {
        "requests": figures.requests,
        "ok": figures.ok,
        "failed": figures.failed,
        "p50_ms": whole_ms(times.p50_ns if times else None),
        "p99_ms": whole_ms(times.p99_ns if times else None),
        "max_ms": whole_ms(times.max_ns if times else None),
    }
    line = " ".join(f"{key}={value}" for key, value in shown.items())
    return f"{line} {_failure_counts(figures.failures)}" if figures.failures else line


def run_heading(plan: Plan, run: Run) -> str:
    """The line before a run."""
    return f"-- {workload_words(plan.workload)} run {run.number}"


def workload_words(workload: Workload) -> str:
    """The workload, in short: N=400, 64 users for 30 s, 100/s to 2,000/s in 60 s."""
    if not workload.stages:
        return f"N={workload.requests}"
    return ", ".join(_stage_words(stage, is_open=workload.is_open) for stage in workload.stages)


def _stage_words(stage: Stage, *, is_open: bool) -> str:
    first, last = (_level_words(level, is_open=is_open) for level in (stage.first, stage.last))
    if stage.first == stage.last:
        return f"{first} for {stage.duration_s:g} s"
    return f"{first} to {last} in {stage.duration_s:g} s"


def _level_words(level: float, *, is_open: bool) -> str:
    if is_open:
        return f"{level:,g}/s"
    return "1 user" if level == 1 else f"{level:,g} users"


def service_line(summary: Summary) -> str | None:
    """Times from begun, where they are not the same as those from due: then requests waited in the generator."""
    times, service = summary.times, summary.service
    if times is None or service is None:
        return None
    pairs = [(getattr(times, name), getattr(service, name)) for name in ("p50_ns", "p99_ns", "max_ns")]
    if all(response <= (1 + _SAME) * from_begun for response, from_begun in pairs):
        return None
    figures = {"min": service.min_ns, "p50": service.p50_ns, "p99": service.p99_ns, "max": service.max_ns}
    shown = " ".join(f"{name}_ms={whole_ms(value)}" for name, value in figures.items())
    return f"service time, from begun: {shown}; the response times above are from due"


def cluster_line(skew: Skew) -> str:
    """How far the workers of a cluster were from one moment."""
    known = f"cluster: {skew.workers} workers; their clocks are known to {skew.clock_uncertainty_ns / NS_PER_MS:.3f} ms"
    if skew.release_spread_ns is None:
        return known
    return f"{known}, and began within {skew.release_spread_ns / NS_PER_MS:.3f} ms of each other by them"


def run_lines(plan: Plan, run: Run, *, quiet: bool = False, resources: bool = False) -> Iterator[str]:
    """All lines of a run; `resources`: with what the server took, where that was seen."""
    yield run_heading(plan, run)
    yield metrics_line(run.summary)
    if resources and run.resources is not None and (line := run.resources.line()) is not None:
        yield line
    if (line := service_line(run.summary)) is not None:
        yield line
    if plan.server_timing and run.tally is None:
        yield server_timing_line(run.summary)
    elif plan.server_timing:
        yield "server timing: not kept in a run of so many requests"
    if not run.summary.is_exact:
        yield "percentiles from a histogram, within 0.1 %"
    if run.summary.failures:
        yield failed_line(run.summary)
    yield from target_lines(plan, run.summary)
    if run.skew is not None:
        yield cluster_line(run.skew)
    if not quiet:
        for finding in run.findings:
            yield f"why: {finding.sentence}"


def all_runs_lines(runs: Sequence[tuple[Finding, ...]]) -> Iterator[str]:
    """What held in each of several runs, and what came and went; nothing for a single one."""
    if len(runs) > 1:
        for sentence in over_runs(runs):
            yield f"why: {sentence}"


def objective_lines(plan: Plan, runs: Sequence[Run]) -> Iterator[str]:
    """How the runs stand to the plan's objectives, a line each."""
    yield from verdict_lines([verdicts for run in runs if (verdicts := run.verdicts(plan.objectives))])


def failure_hint(run: Run) -> str | None:
    """What the failures of a run come down to, where one thing is behind most of them; a note, not a finding."""
    summary = run.summary
    if summary.failures.get(Outcome.REFUSED) == summary.requests:
        return f"nothing listens at {run.address}; rig serve threads starts a server at the default URL"
    errors = {status: count for status, count in summary.statuses.items() if status >= 400}
    if errors:
        return "the server answered " + ", ".join(f"{status} to {count:,}" for status, count in errors.items())
    return None
