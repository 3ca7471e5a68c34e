"""Where results go: each format as a sink that is given the runs as they end."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Protocol, TextIO

from loadgen.errors import UsageError
from loadgen.evidence_file import Key, evidence_data, evidence_path
from loadgen.explain import Evidence, Finding
from loadgen.objective import Verdict, verdict_lines
from loadgen.plan import Plan
from loadgen.render import text
from loadgen.render.document import document
from loadgen.runner import Run
from loadgen.samples import Samples
from loadgen.store import CSV_HEADER, csv_rows, json_data


class Sink(Protocol):
    """Takes the runs of a session."""

    def add(self, run: Run) -> None:
        """Takes a run that has just ended; what is written for it is flushed, so that nothing is lost later."""

    def finish(self) -> None:
        """Writes what can only be written at the end."""


class TextSink:
    """The text form, as each run ends."""

    def __init__(self, plan: Plan, file: TextIO, *, quiet: bool = False) -> None:
        self._plan, self._file, self._quiet = plan, file, quiet
        self._findings: list[tuple[Finding, ...]] = []
        self._verdicts: list[list[Verdict]] = []

    def add(self, run: Run) -> None:
        """Prints the run's lines."""
        self._findings.append(run.findings)
        if verdicts := run.verdicts(self._plan.objectives):
            self._verdicts.append(verdicts)
        for line in text.run_lines(self._plan, run, quiet=self._quiet):
            print(line, file=self._file)
        self._file.flush()

    def finish(self) -> None:
        """Prints what the runs have in common, and how they stand to the objectives."""
        if not self._quiet:
            for line in text.all_runs_lines(self._findings):
                print(line, file=self._file)
        for line in verdict_lines(self._verdicts):
            print(line, file=self._file)
        self._file.flush()


class JsonSink:
    """One JSON object, at the end."""

    def __init__(self, plan: Plan, file: TextIO) -> None:
        self._plan, self._file = plan, file
        self._runs: list[Run] = []

    def add(self, run: Run) -> None:
        """Keeps the run."""
        self._runs.append(run)

    def finish(self) -> None:
        """Prints the object."""
        json.dump(document(self._plan, self._runs), self._file, indent=2)
        self._file.write("\n")
        self._file.flush()


class CsvSink:
    """One row a request, as each run ends."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(CSV_HEADER)

    def add(self, run: Run) -> None:
        """Writes the run's rows."""
        self._writer.writerows(csv_rows(run.number, run.samples))
        self._file.flush()

    def finish(self) -> None:
        """Nothing is left to do."""


class JsonSamplesSink:
    """All samples as one JSON object, at the end."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._runs: dict[int, Samples] = {}

    def add(self, run: Run) -> None:
        """Keeps the run's samples."""
        self._runs[run.number] = run.samples

    def finish(self) -> None:
        """Writes the object."""
        json.dump(json_data(self._runs), self._file)
        self._file.write("\n")
        self._file.flush()


def samples_sink(path: Path) -> type[CsvSink] | type[JsonSamplesSink]:
    """The sink, to be made over the open file, that a samples file's name asks for.

    Raises:
        UsageError: the name ends in neither .csv nor .json.
    """
    match path.suffix:
        case ".csv":
            return CsvSink
        case ".json":
            return JsonSamplesSink
    raise UsageError(f"--samples {path}: the name must end in .csv or .json")


class EvidenceSink:
    """What was seen beside the samples, in the file beside theirs; written anew as each run ends."""

    def __init__(self, samples: Path) -> None:
        """For a file of samples."""
        self._path = evidence_path(samples)
        self._runs: dict[Key, Evidence] = {}

    def add(self, run: Run) -> None:
        """Keeps the run's evidence and writes all so far."""
        self._runs["", run.number] = run.evidence
        self._path.write_text(json.dumps(evidence_data(self._runs.items())) + "\n", encoding="utf-8")

    def finish(self) -> None:
        """Nothing is left to do."""
