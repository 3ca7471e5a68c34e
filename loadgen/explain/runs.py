"""Several runs of the same: what held in each, what came and went."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from loadgen.explain.finding import CAUSES, Finding
from loadgen.explain.words import HTTP, Terms, counted, joined, spoken_ms

_MOST_NAMED: Final = 8

Findings = Sequence[Finding]


def gist(findings: Findings, terms: Terms = HTTP) -> str:
    """What findings of one cause, of one run or several, come to in a few words."""
    limit = _range([finding.details["limit"] for finding in findings if "limit" in finding.details])
    services = [finding.details["service_ms"] for finding in findings if "service_ms" in finding.details]
    each = f", about {spoken_ms(median(services) * 1e6)} each" if services else ""
    return {
        "client": "the generator was the bottleneck",
        "timeout": f"{terms.request}s were given up",
        "shed": f"{terms.request}s were turned away beyond {limit} at once",
        "accept-queue": "SYNs were dropped, the accept queue was full",
        "stall": "everything in flight stood still",
        "serial": f"one {terms.request} at a time{each}",
        "concurrency-limit": f"{limit} {terms.request}s at once{each}",
        "connection-limit": f"{limit} connections accepted at once{each}",
        "cpu-shared": "the CPU was shared",
        "overlapped": f"{_none_met(findings)}{each}",
        "unexplained": f"late {terms.request}s are left unexplained",
    }[findings[0].cause]


def _none_met(findings: Findings) -> str:
    """That no limit was met; or which one may have been, where each run had too few requests to tell."""
    possible = [finding.evidence["possible_limit"] for finding in findings if "possible_limit" in finding.evidence]
    return f"no limit met, or one of {_range(possible)}" if len(possible) == len(findings) else "no limit met"


def over_runs(runs: Sequence[Findings], terms: Terms = HTTP) -> list[str]:
    """A sentence a cause: in which runs it held, and for how many requests."""
    sentences = []
    for cause in CAUSES:
        found = [next((finding for finding in run if finding.cause == cause), None) for run in runs]
        held = [finding for finding in found if finding is not None]
        if held:
            where = f"in each of {len(runs)} runs" if len(held) == len(runs) else f"in {_named(found)} of {len(runs)}"
            counts = _range([finding.requests for finding in held])
            noun = terms.request if counts == "1" else f"{terms.request}s"
            sentences.append(f"{where}: {gist(held, terms)} ({cause}; {counts} {noun}).")
    return sentences


def limited_by(runs: Sequence[Findings], terms: Terms = HTTP) -> str:
    """What limits a server, over its runs: the commonest shape, and what came beside it.

    Of runs that are not to be trusted nothing is told but that.
    """
    beside = ("overlapped", "unexplained")
    trusted = [run for run in runs if not _runs_with("client", [run])]
    parts = []
    for cause in sorted(CAUSES, key=lambda cause: -_runs_with(cause, trusted)):
        held = [finding for run in trusted for finding in run if finding.cause == cause]
        if held and cause not in beside:
            every = "" if len(held) == len(runs) else f" in {len(held)} of {len(runs)} runs"
            parts.append(f"{gist(held, terms)}{every}")
    if not parts and (trusted or not runs):
        overlapped = [finding for run in trusted for finding in run if finding.cause == "overlapped"]
        parts.append(_none_met(overlapped) if overlapped else "not seen")
    if untrusted := len(runs) - len(trusted):
        parts.append(f"not to be trusted in {untrusted} of {len(runs)} runs")
    return "; ".join(parts)


def waves_of_runs(runs: Sequence[Findings]) -> int | None:
    """How many waves the runs usually made; 1 where no limit was met, None where neither was seen."""
    counts: list[int] = []
    for run in runs:
        for finding in run:
            waves: list[Any] | None = finding.details.get("waves")
            if waves:
                counts.append(len(waves))
            elif finding.cause == "overlapped":
                counts.append(1)
    return round(median(counts)) if counts else None


def _runs_with(cause: str, runs: Sequence[Findings]) -> int:
    return sum(any(finding.cause == cause for finding in run) for run in runs)


def _range(values: Sequence[int]) -> str:
    """`200`, or `198 to 201`."""
    if not values:
        return "some"
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _named(found: Sequence[Finding | None]) -> str:
    numbers = [str(number) for number, finding in enumerate(found, 1) if finding is not None]
    if len(numbers) > _MOST_NAMED:
        return counted(len(numbers), "run")
    return f"{'run' if len(numbers) == 1 else 'runs'} {joined(numbers)}"
