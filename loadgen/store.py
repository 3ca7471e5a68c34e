"""Samples to files and back, with nothing lost: CSV (one row a request) and JSON (one list a column).

In both, an outcome is its label and a stage never reached is an empty field or null.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Final, TextIO

import numpy as np

from loadgen.errors import DataError
from loadgen.outcome import Outcome
from loadgen.plan import Plan
from loadgen.samples import COLUMNS, MISSING, TIME_COLUMNS, Ints, Samples
from loadgen.server_timing import MOST_NAMES, is_metric_name

JSON_SCHEMA: Final = "loadgen-samples/1"

DTYPES: Final[dict[str, type[np.signedinteger[Any]]]] = {
    **dict.fromkeys((*TIME_COLUMNS, "bytes_in", "server_timing"), np.int64),
    "status": np.int16,
    "outcome": np.int8,
    "reused": np.int8,
    "resent": np.int16,
    "target": np.int16,
}
NULLABLE: Final = frozenset((*TIME_COLUMNS, "status", "resent", "target", "server_timing"))
_LIMITS: Final = {name: int(np.iinfo(dtype).max) for name, dtype in DTYPES.items()}
_LABELS: Final = tuple(outcome.label for outcome in Outcome)
_NUMBERS: Final = {label: number for number, label in enumerate(_LABELS)}
FILE_COLUMNS: Final = tuple(name for name in COLUMNS if name != "target")
"""The columns of every file."""


def public_name(column: str) -> str:
    """The name of a column in files: with its unit."""
    return f"{column}_ns" if column in TIME_COLUMNS else column


CSV_HEADER: Final = ("run", "request", *map(public_name, FILE_COLUMNS))
_TARGET: Final = "target"
TIMING: Final = "server_timing_ns"
EXTRA_COLUMNS: Final = (_TARGET, TIMING)
"""Those that a file may have besides, in order."""


def extra_columns(plan: Plan) -> tuple[str, ...]:
    """The columns that files of this plan's runs have beside those of every file, by their names there, in order."""
    has = {_TARGET: bool(plan.mix), TIMING: plan.server_timing}
    return tuple(name for name, wanted in has.items() if wanted)


def csv_rows(run: int, samples: Samples, first: int = 0, *, extra: Collection[str] = ()) -> Iterator[tuple[Any, ...]]:
    """The rows of a run, in the order of CSV_HEADER and `extra_columns`; requests are numbered from `first` on.

    The server's figures stand in one field, as in `acquire=12300000 work=100100000`: the names are known only when all
    responses have come, and rows are written as each run ends.
    """
    columns = [_to_public(name, getattr(samples, name)) for name in FILE_COLUMNS]
    if _TARGET in extra:
        columns.append(_to_public("target", samples.target))
    if TIMING in extra:
        columns.append(_timing_fields(samples))
    for request, row in enumerate(zip(*columns, strict=True), first):
        yield (run, request, *row)


@contextlib.contextmanager
def gzip_member(target: BinaryIO) -> Iterator[TextIO]:
    """Text that is compressed on its way to a file. Members written after each other are one text to a reader."""
    with (  # level 1: the next run waits until the rows of this one are written
        gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=1, mtime=0) as member,
        io.TextIOWrapper(member, encoding="utf-8", newline="") as text,
    ):
        yield text


def read_csv(file: TextIO) -> dict[int, Samples]:
    """The runs of a file written with CSV_HEADER, `extra_columns` and `csv_rows`, by number.

    Raises:
        DataError: with the line, where it is not such a file.
    """
    reader = csv.reader(file)
    runs: dict[int, list[list[int]]] = {}
    rows: list[list[int]] = []
    timings: dict[int, list[dict[str, int]]] = {}
    run = None
    try:
        header = tuple(next(reader, ()))
        extra = header[len(CSV_HEADER) :]
        if header[: len(CSV_HEADER)] != CSV_HEADER or extra not in ((), (_TARGET,), (TIMING,), (_TARGET, TIMING)):
            known = ",".join(CSV_HEADER)
            raise DataError(f"not a file of samples: line 1 must be {known}, and may go on with ,{_TARGET},{TIMING}")
        names = COLUMNS if _TARGET in extra else FILE_COLUMNS
        for row in filter(None, reader):
            if len(row) != len(header):
                raise ValueError(f"{len(row)} fields, not {len(header)}")
            if run is None or int(row[0]) != run:
                run = int(row[0])
                if run in runs:
                    raise ValueError(f"run {run} has ended before")
                rows = runs[run] = []
                timings[run] = []
            if int(row[1]) != len(rows):
                raise ValueError(f"request {row[1]} where {len(rows)} comes next")
            fields = row[2:]
            text = fields.pop() if TIMING in extra else ""
            rows.append([_from_public(name, value) for name, value in zip(names, fields, strict=True)])
            timings[run].append(_timings_of(text))
        return {
            run: _to_samples(dict(zip(names, zip(*rows, strict=True), strict=True)), _by_name(timings[run]))
            for run, rows in runs.items()
        }
    except UnicodeDecodeError as error:  # met when a block is read, which says nothing of the line
        raise DataError(f"not a file of samples: {error}") from None
    except (ValueError, csv.Error) as error:
        raise DataError(f"not a file of samples, line {reader.line_num}: {error}") from None


def samples_of(rows: Sequence[Sequence[str]], extra: Collection[str] = ()) -> Samples:
    """The samples of rows as `csv_rows` gives them with these `extra`, without the run's and the request's number.

    Raises:
        DataError: they are not such rows.
    """
    columns = list(zip(*rows, strict=True))
    try:
        timings = [_timings_of(text) for text in columns.pop()] if TIMING in extra else []
        names = COLUMNS if _TARGET in extra else FILE_COLUMNS
        numbers = {name: _read(name, column) for name, column in zip(names, columns, strict=True)}
        return _to_samples(numbers, _by_name(timings))
    except (ValueError, KeyError, OverflowError, TypeError) as error:
        raise DataError(f"not rows of samples: {error!r}") from None


def read_profiles_csv(file: TextIO) -> dict[tuple[str, int], Samples]:
    """The runs of a file as `read_csv` takes it, or with a `profile` column before the others, by profile and run.

    Raises:
        DataError: it is neither.
    """
    parts: dict[str, list[str]] = {}
    try:
        lines = file.read().splitlines(keepends=True)
        if not lines or not lines[0].startswith("profile,"):
            return {("", run): samples for run, samples in read_csv(io.StringIO("".join(lines))).items()}
        for row in csv.reader(lines[1:]):
            parts.setdefault(row[0] if row else "", []).append(",".join(row[1:]) + "\n")
    except UnicodeDecodeError:
        raise DataError("not text: it takes CSV as --samples writes it (a .gz file must be unpacked first)") from None
    except csv.Error as error:
        raise DataError(f"not rows of samples: {error}") from None
    heading = lines[0].partition(",")[2]
    return {
        (profile, run): samples
        for profile, rows in parts.items()
        for run, samples in read_csv(io.StringIO(heading + "".join(rows))).items()
    }


def json_data(runs: Mapping[int, Samples]) -> dict[str, Any]:
    """All runs as plain data for `json.dump`."""
    return {
        "schema": JSON_SCHEMA,
        "runs": [
            {
                "run": run,
                "columns": {
                    public_name(name): _to_public(name, getattr(samples, name)) for name in _columns_of(samples)
                },
                "server_timing_ns": {
                    name: _to_public("server_timing", column) for name, column in samples.server_timing.items()
                },
            }
            for run, samples in runs.items()
        ],
    }


def _columns_of(samples: Samples) -> tuple[str, ...]:
    return COLUMNS if samples.has_targets else FILE_COLUMNS


def read_json(file: TextIO) -> dict[int, Samples]:
    """The runs of a file that holds `json_data`, by number.

    Raises:
        DataError: it is not such a file.
    """
    try:
        data = json.load(file)
        if data["schema"] != JSON_SCHEMA:
            raise DataError(f"not a file of samples: its schema is {data['schema']!r}, not {JSON_SCHEMA!r}")
        runs: dict[int, Samples] = {}
        for run in data["runs"]:
            if run["run"] in runs:
                raise ValueError(f"run {run['run']} twice")
            names = COLUMNS if _TARGET in run["columns"] else FILE_COLUMNS
            columns = {name: run["columns"][public_name(name)] for name in names}
            timings = run.get("server_timing_ns", {})  # a file may be older than these
            check_names(timings)
            runs[int(run["run"])] = _to_samples(
                {name: [_from_public(name, value) for value in values] for name, values in columns.items()},
                {name: [_from_public("server_timing", value) for value in timings[name]] for name in timings},
            )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"not a file of samples: {error!r}") from None
    return runs


def _to_public(name: str, column: Iterable[Any]) -> list[Any]:
    """A column as a reader sees it."""
    values: list[int] = np.asarray(column).tolist()
    if name == "outcome":
        return [_LABELS[value] for value in values]
    if name in NULLABLE:
        return [None if value == MISSING else value for value in values]
    return values


def _from_public(name: str, value: object) -> int:
    """A value of a column as Samples holds it."""
    if name == "outcome":
        if value not in _LABELS:
            raise ValueError(f"outcome {value!r} is none of {', '.join(_LABELS)}")
        return _LABELS.index(value)
    if name in NULLABLE and value in (None, ""):
        return MISSING
    if isinstance(value, str | int) and 0 <= (number := int(value)) <= _LIMITS[name]:
        return number
    raise ValueError(f"{public_name(name)} {value!r} is not a number that can stand there")


def _read(name: str, column: Iterable[str]) -> list[int]:
    """A column of text as Samples holds it; quicker than value by value, and strict enough for our own files."""
    if name == "outcome":
        return [_NUMBERS[label] for label in column]
    if name in NULLABLE:
        return [int(text) if text else MISSING for text in column]
    return [int(text) for text in column]


def _timing_fields(samples: Samples) -> list[str]:
    """The server's figures of each request, as the CSV form has them."""
    columns = {name: _to_public("server_timing", column) for name, column in samples.server_timing.items()}
    return [
        " ".join(f"{name}={column[row]}" for name, column in columns.items() if column[row] is not None)
        for row in range(len(samples))
    ]


def _timings_of(text: str) -> dict[str, int]:
    """The server's figures of a request by name."""
    pairs = [part.partition("=") for part in text.split(" ")] if text else []
    if not all(value for _, _, value in pairs):
        raise ValueError(f"{text!r} is not name=ns, as in acquire=12300000 work=100100000")
    timings = {name: _from_public("server_timing", value) for name, _, value in pairs}
    check_names(timings)
    return timings


def _by_name(rows: Sequence[Mapping[str, int]]) -> dict[str, list[int]]:
    """A column a metric, in the order in which they first come."""
    names = dict.fromkeys(name for row in rows for name in row)
    check_names(names)
    return {name: [row.get(name, MISSING) for row in rows] for name in names}


def check_names(names: Collection[str]) -> None:
    """Raises ValueError where the server's own figures cannot have these names."""
    if len(names) > MOST_NAMES or not all(map(is_metric_name, names)):
        raise ValueError(f"server timing takes {MOST_NAMES} names at most, each one word")


def _to_samples(columns: Mapping[str, Sequence[int]], timings: Mapping[str, Sequence[int]]) -> Samples:
    arrays = {name: np.array(values, dtype=DTYPES[name]) for name, values in columns.items()}
    timing: dict[str, Ints] = {name: np.array(values, dtype=np.int64) for name, values in timings.items()}
    if len({len(array) for array in (*arrays.values(), *timing.values())}) > 1:
        raise ValueError("columns of different lengths")
    return Samples(**{"target": np.zeros(len(arrays["due"]), dtype=np.int16), **arrays}, server_timing=timing)
