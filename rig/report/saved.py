"""A run folder as the report reads it: `result.json`, the samples, the resources. The one place that knows the files."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loadgen.errors import DataError
from loadgen.samples import Samples
from loadgen.store import read_profiles_csv

RUNS: Final = Path("runs")

_SCHEMA: Final = "rig-run/1"


@dataclass(frozen=True, slots=True)
class SavedRunOfProfile:
    """One run of a profile."""

    number: int
    data: Mapping[str, Any]
    """As `result.json` has it."""
    samples: Samples | None
    """None where the folder has none of it."""


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

    folder: Path
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
        samples = _samples(folder)
        profiles = tuple(_profile(data, samples) for data in _profile_data(result))
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


def _profile(data: Mapping[str, Any], samples: Mapping[tuple[str, int], Samples]) -> SavedProfile:
    spec = data["profile"]
    runs = tuple(SavedRunOfProfile(run["run"], run, samples.get((spec, run["run"]))) for run in data["runs"])
    return SavedProfile(spec, data.get("args", ""), data.get("limits", ""), data["plan"], runs)


def _samples(folder: Path) -> dict[tuple[str, int], Samples]:
    file = folder / "samples.csv.gz"
    if not file.exists():
        return {}
    with gzip.open(file, "rt", encoding="utf-8", newline="") as rows:
        return read_profiles_csv(rows)


def _resources(folder: Path) -> tuple[Mapping[str, str], ...]:
    file = folder / "resources.csv"
    if not file.exists():
        return ()
    with file.open(encoding="utf-8", newline="") as rows:
        return tuple(csv.DictReader(rows))
