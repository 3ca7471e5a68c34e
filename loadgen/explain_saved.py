"""Runs read back from files of samples, explained and rendered as they were when they were new."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from loadgen.errors import DataError
from loadgen.evidence_file import Key, evidence_path, read_evidence
from loadgen.explain import Finding, explain
from loadgen.parquet import read_parquet
from loadgen.render.document import finding_data, server_timing_data
from loadgen.render.text import all_runs_lines, failed_line, metrics_line, server_timing_line
from loadgen.samples import Samples
from loadgen.store import read_json, read_profiles_csv
from loadgen.summary import Summary, summarize


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run from a file."""

    profile: str
    """Empty where the file has none."""
    number: int
    summary: Summary
    findings: tuple[Finding, ...]


def read_runs(path: Path, over_ms: int | None = None) -> list[SavedRun]:
    """The runs of a file of samples; late as then, or above `over_ms`.

    Raises:
        OSError: it cannot be read.
        DataError: it is not a file of samples.
    """
    samples = _read_samples(path)
    runs = []
    for (profile, number), evidence in read_evidence(evidence_path(path), samples).items():
        over = evidence.over_ms if over_ms is None else over_ms
        evidence = replace(evidence, over_ms=over)
        is_open = not evidence.concurrency
        summary = summarize(evidence.samples, concurrency=evidence.concurrency, over_ms=over, is_open=is_open)
        runs.append(SavedRun(profile, number, summary, explain(evidence)))
    if not runs:
        raise DataError("no run in it")
    return runs


def _read_samples(path: Path) -> dict[Key, Samples]:
    if path.suffix == ".parquet":
        with path.open("rb"):  # said as of any other file, where it cannot be
            return {("", run): rows for run, rows in read_parquet(path).items()}
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".json":
            return {("", run): rows for run, rows in read_json(file).items()}
        return read_profiles_csv(file)


def as_text(runs: Sequence[SavedRun]) -> Iterator[str]:
    """The text form, profile by profile."""
    for profile, group in groupby(runs, key=lambda run: run.profile):
        of_profile = list(group)
        if profile:
            yield profile
        for run in of_profile:
            yield f"-- N={run.summary.requests} run {run.number}"
            yield metrics_line(run.summary)
            if run.summary.server_timing:
                yield server_timing_line(run.summary)
            if run.summary.failures:
                yield failed_line(run.summary)
            yield from (f"why: {finding.sentence}" for finding in run.findings)
        yield from all_runs_lines([run.findings for run in of_profile])


def as_document(runs: Sequence[SavedRun]) -> Iterator[str]:
    """The JSON form."""
    data = [
        {
            "profile": run.profile or None,
            "run": run.number,
            "requests": run.summary.requests,
            "ok": run.summary.ok,
            "server_timing": server_timing_data(run.summary),
            "findings": [finding_data(finding) for finding in run.findings],
        }
        for run in runs
    ]
    yield json.dumps({"schema": "loadgen-explain/1", "runs": data}, indent=2)
