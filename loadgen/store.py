"""Samples to files and back, with nothing lost: CSV (one row a request) and JSON (one list a column).

In both, an outcome is its label and a stage never reached is an empty field or null.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any, Final, TextIO

import numpy as np

from loadgen.errors import DataError
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, TIME_COLUMNS, Samples

JSON_SCHEMA: Final = "loadgen-samples/1"

_DTYPES: Final[dict[str, type[np.signedinteger[Any]]]] = {
    **dict.fromkeys((*TIME_COLUMNS, "bytes_in"), np.int64),
    "status": np.int16,
    "outcome": np.int8,
    "reused": np.int8,
    "resent": np.int16,
}
_NULLABLE: Final = frozenset((*TIME_COLUMNS, "status", "resent"))
_COLUMNS: Final = tuple(field.name for field in fields(Samples))


def _public_name(column: str) -> str:
    return f"{column}_ns" if column in TIME_COLUMNS else column


CSV_HEADER: Final = ("run", "request", *map(_public_name, _COLUMNS))


def csv_rows(run: int, samples: Samples) -> Iterator[tuple[Any, ...]]:
    """The rows of a run, in the order of CSV_HEADER."""
    columns = [_to_public(name, getattr(samples, name)) for name in _COLUMNS]
    for request, row in enumerate(zip(*columns, strict=True)):
        yield (run, request, *row)


def read_csv(file: TextIO) -> dict[int, Samples]:
    """The runs of a file written with CSV_HEADER and `csv_rows`, by number.

    Raises:
        DataError: with line and column, where it is not such a file.
    """
    reader = csv.DictReader(file)
    if reader.fieldnames is None or tuple(reader.fieldnames) != CSV_HEADER:
        raise DataError(f"not a file of samples: its first line must be {','.join(CSV_HEADER)}")
    try:
        runs = {
            run: {name: [row[_public_name(name)] for row in rows] for name in _COLUMNS}
            for run, rows in ((run, list(group)) for run, group in groupby(reader, key=lambda row: int(row["run"])))
        }
        return {run: _from_public(columns) for run, columns in runs.items()}
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(f"not a file of samples, near line {reader.line_num}: {error}") from None


def json_data(runs: Mapping[int, Samples]) -> dict[str, Any]:
    """All runs as plain data for `json.dump`."""
    return {
        "schema": JSON_SCHEMA,
        "runs": [
            {"run": run, "columns": {_public_name(name): _to_public(name, getattr(samples, name)) for name in _COLUMNS}}
            for run, samples in runs.items()
        ],
    }


def read_json(file: TextIO) -> dict[int, Samples]:
    """The runs of a file that holds `json_data`, by number.

    Raises:
        DataError: it is not such a file.
    """
    try:
        data = json.load(file)
        if data["schema"] != JSON_SCHEMA:
            raise DataError(f"not a file of samples: its schema is {data['schema']!r}, not {JSON_SCHEMA!r}")
        return {
            int(run["run"]): _from_public({name: run["columns"][_public_name(name)] for name in _COLUMNS})
            for run in data["runs"]
        }
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(f"not a file of samples: {error!r}") from None


def _to_public(name: str, column: Iterable[Any]) -> list[Any]:
    """A column as a reader sees it."""
    values: list[int] = np.asarray(column).tolist()
    if name == "outcome":
        labels = [outcome.label for outcome in Outcome]
        return [labels[value] for value in values]
    if name in _NULLABLE:
        return [None if value == MISSING else value for value in values]
    return values


def _from_public(columns: Mapping[str, Sequence[Any]]) -> Samples:
    arrays = {}
    for name, values in columns.items():
        if name == "outcome":
            numbers = [int(Outcome.from_label(value)) for value in values]
        elif name in _NULLABLE:
            numbers = [MISSING if value in (None, "") else int(value) for value in values]
        else:
            numbers = [int(value) for value in values]
        arrays[name] = np.array(numbers, dtype=_DTYPES[name])
    if len({len(array) for array in arrays.values()}) > 1:
        raise ValueError("columns of different lengths")
    return Samples(**arrays)
