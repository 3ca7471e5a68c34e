"""A run folder as the report reads it: `result.json`, samples, resources. The one place that knows the files."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loadgen.errors import DataError
from loadgen.outcome import Outcome
from loadgen.samples import COLUMNS, MISSING, Samples
from loadgen.store import CSV_HEADER, DTYPES

RUNS: Final = Path("runs")

_SCHEMA: Final = "rig-run/1"
_HEADER: Final = ["profile", *CSV_HEADER]
_OUTCOMES: Final = {outcome.label: int(outcome) for outcome in Outcome}

_Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class SavedRunOfProfile:
    """One run of a profile."""

    number: int
    data: Mapping[str, Any]
    """As `result.json` has it."""
    rows: Sequence[Sequence[str]] = field(repr=False)
    """Its lines of the samples' file, from the first column of `Samples` on."""

    @property
    def samples(self) -> Samples:
        """One row a request.

        Raises:
            DataError: there are none, or fewer than there were requests.
        """
        if len(self.rows) != self.data["requests"]:
            raise DataError(f"run {self.number}: {len(self.rows):,} rows of {self.data['requests']:,}")
        return _samples(self.rows)


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """A profile and its runs."""

    spec: str
    """Empty where a URL was measured."""
    args: str
    limits: str
    plan: Mapping[str, Any]
    runs: tuple[SavedRunOfProfile, ...]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """What a run folder holds."""

    path: Path
    result: Mapping[str, Any]
    profiles: tuple[SavedProfile, ...]
    resources: tuple[Mapping[str, str], ...]
    """The rows of `resources.csv`; a field that was not to be seen is empty."""


def load(path: Path) -> SavedRun:
    """The run of a folder, or of a name, the beginning of one, or `latest`, under `runs/`.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    folder = find(path)
    file = folder / "result.json"
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
        if result["schema"] != _SCHEMA:
            raise DataError(f"{file}: its schema is {result['schema']!r}, not {_SCHEMA!r}")
        lots = _lots(folder)
        profiles = tuple(_profile(data, lots) for data in _profile_data(result))
        return SavedRun(folder, result, profiles, _resources(folder))
    except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{file}: not a saved run: {error}") from None


def find(path: Path) -> Path:
    """The folder that `load` would read.

    Raises:
        DataError: there is none.
    """
    if path.is_dir():
        return path
    named = sorted(folder for folder in RUNS.glob("*") if (folder / "result.json").exists())
    begun = named[-1:] if str(path) == "latest" else [folder for folder in named if folder.name.startswith(str(path))]
    if len(begun) != 1:
        several = f"{len(begun)} runs begin so" if begun else "no such run"
        raise DataError(f"{path}: {several}; give a folder, the beginning of a name in {RUNS}/, or latest")
    return begun[0]


def _profile_data(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Those of a comparison, or of every step of a scenario."""
    yield from result.get("profiles", ())
    for step in result.get("steps", ()):
        yield from step["profiles"]


def _profile(data: Mapping[str, Any], lots: dict[tuple[str, int], list[_Rows]]) -> SavedProfile:
    spec = data["profile"]
    left = [lots.get((spec, run["run"]), []) for run in data["runs"]]
    runs = tuple(
        SavedRunOfProfile(run["run"], run, lot.pop(0) if lot else ())
        for run, lot in zip(data["runs"], left, strict=True)
    )
    return SavedProfile(spec, data.get("args", ""), data.get("limits", ""), data["plan"], runs)


def _lots(folder: Path) -> dict[tuple[str, int], list[_Rows]]:
    """The lines of each run of each profile; several lots where a profile comes more than once."""
    lots: dict[tuple[str, int], list[_Rows]] = {}
    file = folder / "samples.csv.gz"
    if not file.exists():
        return lots
    with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
        rows = csv.reader(text)
        if next(rows, [])[: len(_HEADER)] != _HEADER:
            raise DataError(f"{file}: not a file of samples: line 1 must begin with {','.join(_HEADER)}")
        lot: _Rows = []
        key = ("", "")
        for row in rows:
            if row[2] == "0" or (row[0], row[1]) != key:
                key, lot = (row[0], row[1]), []
                lots.setdefault((row[0], int(row[1])), []).append(lot)
            lot.append(row[3 : len(_HEADER)])
    return lots


def _samples(rows: Sequence[Sequence[str]]) -> Samples:
    """Column by column: value by value would take longer than all the rest of a report."""
    columns: dict[str, Any] = {
        name: _column(name, values) for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True)
    }
    return Samples(**columns)


def _column(name: str, values: Sequence[str]) -> NDArray[Any]:
    if name == "outcome":
        numbers = [_OUTCOMES[value] for value in values]
    else:
        numbers = [int(value) if value else MISSING for value in values]
    return np.array(numbers, dtype=DTYPES[name])


def _resources(folder: Path) -> tuple[Mapping[str, str], ...]:
    file = folder / "resources.csv"
    if not file.exists():
        return ()
    with file.open(encoding="utf-8", newline="") as rows:
        return tuple(csv.DictReader(rows))
