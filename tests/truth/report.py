"""docs/truth.md: what the truth suite found, and whether it is good enough. No number in it is written by hand."""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.truth.bounds import Timing
from tests.truth.judge import Verdict
from tests.truth.real import RUNS, Tried
from tests.truth.simulated import LIMIT_BAR, RIGHT_BAR, SEED


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that must hold."""

    what: str
    reached: str
    asked: str
    holds: bool


def bars_of(verdicts: Sequence[Verdict], tried: Sequence[Tried], timings: Sequence[Timing]) -> list[Bar]:
    """What must hold, and whether it does."""
    right = sum(not verdict.wrong for verdict in verdicts)
    limits = [verdict for verdict in verdicts if verdict.limit_right is not None]
    sharp = [verdict.limit_right for verdict in limits if verdict.case.kind != "blurred"]
    blurred = [verdict.limit_right for verdict in limits if verdict.case.kind == "blurred"]
    overlapped = [verdict for verdict in verdicts if verdict.case.kind == "overlapped"]
    false = sum(verdict.tells_limit for verdict in overlapped)
    missed = sum(bool(run.wrong) for run in tried)
    combinations = len({run.combination for run in tried})
    found = [
        _part("simulated runs with the right causes", right, len(verdicts), RIGHT_BAR),
        _part("limits within 2 % or 1", sum(map(bool, sharp)), len(sharp), LIMIT_BAR),
        _part("limits within 15 %, blurred", sum(map(bool, blurred)), len(blurred), 0.95),
        Bar(f"limits told in {len(overlapped)} runs without any", str(false), "0", false == 0),
        Bar(f"wrong runs of {len(tried)} at {combinations} real servers", str(missed), "0", missed == 0),
    ]
    for timing in timings:
        what = f"explaining {timing.requests:,} requests: {timing.kind}"
        took = f"{timing.took_ms:,.0f} ms"
        found.append(Bar(what, took, f"under {timing.bound_ms:,.0f} ms", timing.took_ms < timing.bound_ms))
    return found


def _part(what: str, count: int, of: int, least: float) -> Bar:
    return Bar(what, f"{count:,} of {of:,}, {count / of:.2%}", f"{least:.0%}", count >= least * of)


def document(verdicts: Sequence[Verdict], tried: Sequence[Tried], bars: Sequence[Bar]) -> str:
    """The page."""
    return "\n".join([*_head(), *_bars(bars), *_simulated(verdicts), *_real(tried), *_misses(verdicts, tried), ""])


def _head() -> Iterator[str]:
    yield "# Truth\n"
    yield "Written by `make truth`: findings held against simulated runs and real servers whose truth is known."
    yield "`|` between causes: nothing that was observed tells them apart, and the finding says so. A `client` finding"
    yield "at a real server is about the generator's own figures, and is counted neither as right nor as wrong.\n"
    yield f"- date: {time.strftime('%Y-%m-%d', time.gmtime())}"
    system = f"{platform.system()} {platform.release()}"
    yield f"- machine: {system}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    yield f"- load average at the end: {os.getloadavg()[0]:.1f}"
    yield f"- seeds: from {SEED}\n"


def _bars(bars: Iterable[Bar]) -> Iterator[str]:
    yield "## What must hold\n"
    yield from _table(
        ("what", "reached", "asked for", ""),
        ((bar.what, bar.reached, bar.asked, "" if bar.holds else "**missed**") for bar in bars),
    )


def _simulated(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "## Simulated runs\n"
    yield from _table(
        ("kind", "runs", "wrong", "limits told", "right", "median error", "largest error"), _kinds(verdicts)
    )
    yield "### Expected and found\n"
    yield from _confusion((verdict.case.expected.label or "nothing of these", verdict.found) for verdict in verdicts)


def _kinds(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    for kind in dict.fromkeys(verdict.case.kind for verdict in verdicts):
        runs = [verdict for verdict in verdicts if verdict.case.kind == kind]
        limits = [verdict.limit_right for verdict in runs if verdict.limit_right is not None]
        errors = np.abs([verdict.limit_error for verdict in runs if verdict.limit_error is not None])
        told = (f"{np.median(errors):.1%}", f"{errors.max():.1%}") if len(errors) else ("", "")
        wrong = sum(bool(verdict.wrong) for verdict in runs)
        yield kind, str(len(runs)), str(wrong), str(len(limits)), str(sum(map(bool, limits))), *told


def _real(tried: Sequence[Tried]) -> Iterator[str]:
    yield f"## Real servers, {RUNS} runs each\n"
    yield from _table(
        ("server", "fired", "expected", "found", "limit: true, told", "service ms: true, told", "why it is so"),
        _combinations(tried),
    )
    yield "### Expected and found\n"
    yield from _confusion((run.combination.label, run.found) for run in tried)


def _combinations(tried: Sequence[Tried]) -> Iterator[tuple[str, ...]]:
    for combination in dict.fromkeys(run.combination for run in tried):
        runs = [run for run in tried if run.combination == combination]
        found = Counter(run.found for run in runs)
        limits = ", ".join(dict.fromkeys(str(run.limit) for run in runs if run.limit is not None))
        services = [run.service_ms for run in runs if run.service_ms is not None]
        yield (
            f"`{combination.spec}`",
            f"`{combination.fired}`",
            combination.label,
            "; ".join(f"{causes} ({count})" for causes, count in found.items()),
            f"{combination.limit}: {limits}" if combination.limit is not None else "",
            f"{combination.service_ms}: {np.median(services):.0f}" if services and combination.service_ms else "",
            combination.why,
        )


def _misses(verdicts: Sequence[Verdict], tried: Sequence[Tried]) -> Iterator[str]:
    yield "## Misses\n"
    rows = [
        (
            verdict.case.kind,
            str(verdict.case.seed),
            verdict.case.expected.label,
            verdict.found,
            "; ".join(verdict.wrong),
        )
        for verdict in verdicts
        if verdict.wrong
    ]
    rows += [
        (verdict.case.kind, str(verdict.case.seed), f"limit {verdict.case.expected.limit}", "", f"{error:+.1%}")
        for verdict in verdicts
        if not verdict.wrong and verdict.limit_right is False and (error := verdict.limit_error) is not None
    ]
    rows += [
        (f"`{run.combination.spec}`", "real", run.combination.label, run.found, "; ".join(run.wrong))
        for run in tried
        if run.wrong
    ]
    yield from _table(("kind", "seed", "expected", "found", "what is wrong"), rows) if rows else ["None.\n"]


def _confusion(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    counts = Counter(pairs)
    yield from _table(("expected", "found", "runs"), ((*pair, str(count)) for pair, count in sorted(counts.items())))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
