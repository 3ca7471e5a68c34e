"""Where results go: each format as a sink that is given the runs as they end."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol, TextIO, runtime_checkable

from loadgen.errors import UsageError
from loadgen.evidence_file import Key, evidence_data, evidence_path
from loadgen.explain import Evidence, Finding
from loadgen.objective import Verdict, verdict_lines
from loadgen.parquet import check_parquet
from loadgen.plan import Plan
from loadgen.render import text
from loadgen.render.document import document
from loadgen.render.hgrm import hgrm_lines
from loadgen.run import Run, TakeRows
from loadgen.samples import MOST_KEPT, Samples
from loadgen.spool import Form, Spool
from loadgen.store import CSV_HEADER, csv_rows, extra_columns, json_data


class Sink(Protocol):
    """Takes the runs of a session."""

    def add(self, run: Run) -> None:
        """Takes a run that has just ended; what is written for it is flushed, so that nothing is lost later."""

    def finish(self) -> None:
        """Writes what can only be written at the end."""


@runtime_checkable
class RowTaker(Protocol):
    """A sink that wants the rows of a run that is too long for them to be kept, too."""

    def take(self, run: int, samples: Samples) -> None:
        """Takes rows of a run that lasts; called in a thread."""


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


class HdrSink:
    """The percentiles of each run in the .hgrm form of HdrHistogram's plotters, as it ends."""

    def __init__(self, plan: Plan, file: TextIO) -> None:
        self._plan, self._file = plan, file

    def add(self, run: Run) -> None:
        """Prints the run's block."""
        self._file.writelines(hgrm_lines(text.run_heading(self._plan, run), run))
        self._file.flush()

    def finish(self) -> None:
        """Nothing is left to do."""


class _RowSink:
    """Rows to a file; those of a run that is too long to be kept while it lasts, by a spool."""

    def __init__(self, file: TextIO, form: Form, extra: Sequence[str]) -> None:
        self._file = file
        self._form = form
        self._extra = extra
        self._spool: Spool | None = None
        self._trouble: OSError | None = None

    def take(self, run: int, samples: Samples) -> None:
        """Takes rows of a run that lasts. Trouble with the file does not end it."""
        with self._trouble_noted():
            if self._spool is None:
                self._spool = Spool(self._file, self._form, self._extra)
            self._spool.write(run, samples)

    def finish(self) -> None:
        """Raises what went wrong with the file: by now the results that go elsewhere have been written."""
        self._end_spool()
        if self._trouble is not None:
            raise self._trouble

    def _end_spool(self) -> None:
        spool, self._spool = self._spool, None
        if spool is not None:
            with self._trouble_noted():
                spool.close()

    @contextmanager
    def _trouble_noted(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # nobody reads any more
            raise
        except OSError as error:
            self._trouble = self._trouble or error


class CsvSink(_RowSink):
    """One row a request, as each run ends or while it lasts."""

    def __init__(self, file: TextIO, extra: Sequence[str] = ()) -> None:
        """Over an open file, with the `extra_columns` that it is to have."""
        super().__init__(file, "csv", extra)
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow((*CSV_HEADER, *extra))

    def add(self, run: Run) -> None:
        """Writes the run's rows, or waits until they are written."""
        self._end_spool()
        if run.tally is None:
            with self._trouble_noted():
                self._writer.writerows(csv_rows(run.number, run.samples, extra=self._extra))
                self._file.flush()


class ParquetSink(_RowSink):
    """All samples as one Parquet file, whose end is written at the end."""

    def __init__(self, file: TextIO, extra: Sequence[str] = ()) -> None:
        """Over an open file, with the `extra_columns` that it is to have."""
        super().__init__(file, "parquet", extra)

    def add(self, run: Run) -> None:
        """Hands the run's rows over, where they have not been taken while it lasted."""
        if run.tally is None:
            self.take(run.number, run.samples)


def take_rows(sinks: Iterable[Sink]) -> TakeRows | None:
    """What hands the rows of a run that lasts to those of the sinks that want them; None where none does."""
    takers = [sink for sink in sinks if isinstance(sink, RowTaker)]

    def take(run: int, samples: Samples) -> None:
        for sink in takers:
            sink.take(run, samples)

    return take if takers else None


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


def samples_sink(path: Path, plan: Plan) -> Callable[[TextIO], Sink]:
    """The sink, to be made over the open file, that a samples file's name asks for.

    Raises:
        UsageError: the name ends in none of .csv, .json and .parquet, or what it asks for is not to be had.
    """
    match path.suffix:
        case ".csv":
            return partial(CsvSink, extra=extra_columns(plan))
        case ".parquet":
            check_parquet(f"--samples {path}")
            return partial(ParquetSink, extra=extra_columns(plan))
        case ".json":
            requests = plan.workload.requests
            if requests is None or requests > MOST_KEPT:
                raise UsageError(
                    f"--samples {path}: .json takes up to {MOST_KEPT:,} requests (-n); for more, or for a load of a"
                    " duration or a rate, name a file that ends in .csv or .parquet"
                )
            return JsonSamplesSink
    raise UsageError(f"--samples {path}: the name must end in .csv, .json or .parquet")


class EvidenceSink:
    """What was seen beside the samples, in the file beside theirs; written anew as each run ends."""

    def __init__(self, samples: Path) -> None:
        """For a file of samples."""
        self._path = evidence_path(samples)
        self._runs: dict[Key, Evidence] = {}
        self._trouble: OSError | None = None

    def add(self, run: Run) -> None:
        """Keeps the run's evidence and writes all so far. Trouble with the file is raised at the end."""
        self._runs["", run.number] = run.evidence
        try:
            self._path.write_text(json.dumps(evidence_data(self._runs.items())) + "\n", encoding="utf-8")
        except OSError as error:
            self._trouble = error

    def finish(self) -> None:
        """Raises what went wrong with the file: by now the results that are elsewhere have been written."""
        if self._trouble is not None:
            raise self._trouble
