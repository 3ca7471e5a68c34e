"""A run folder, read back. Rows are read only when they are asked for."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from loadgen.errors import DataError
from loadgen.run_folder import RESOURCES, RUNS_DIR, SAMPLES
from loadgen.samples import Samples
from loadgen.store import CSV_HEADER, EXTRA_COLUMNS, samples_of
from rig.runs.listing import find
from rig.runs.result import measured_profiles, read_result

_HEADER: Final = ("profile", *CSV_HEADER)

Key = tuple[str, int, int]
"""A profile, how many runs of that name and number stand before it, and that number."""


def load(run: str | Path, runs_dir: Path = RUNS_DIR) -> SavedRun:
    """The run that is meant. See `rig.runs.listing.find`.

    Raises:
        loadgen.errors.UsageError: there is none, or more than one could be meant.
        DataError: it cannot be read.
    """
    path = find(run, runs_dir)
    return SavedRun(path, read_result(path))


@dataclass(frozen=True, slots=True)
class SavedRunOfProfile:
    """One run of one profile.

    Attributes:
        data: as in result.json.
    """

    number: int
    data: Mapping[str, Any]
    _rows: Rows = field(repr=False)
    _key: Key = field(repr=False)
    _looks: Looks = field(repr=False)
    _looks_key: Key | None = field(repr=False)
    """None: nothing was seen."""

    @property
    def samples(self) -> Samples:
        """One row a request.

        Raises:
            DataError: there are none, or fewer than there were requests.
        """
        rows = self._rows.runs.get(self._key)
        if rows is None or len(rows) != self.data["requests"]:
            there = 0 if rows is None else len(rows)
            raise DataError(
                f"{self._rows.path}: {there:,} rows of {self.data['requests']:,} for {self._key[0]} run {self.number}"
            )
        return rows

    @property
    def resources(self) -> Sequence[Mapping[str, str]]:
        """Its rows of resources.csv by column, as text."""
        return [] if self._looks_key is None else self._looks.runs.get(self._looks_key, [])


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """A profile and its runs.

    Attributes:
        spec: empty where `loadgen` was fired at a URL.
        plan: as in result.json, as is `data`, all that is said of the profile.
        step: the title of the step of a scenario; empty where it is of none.
    """

    spec: str
    args: str
    limits: str
    plan: Mapping[str, Any]
    runs: tuple[SavedRunOfProfile, ...]
    data: Mapping[str, Any] = field(repr=False)
    step: str = ""


class SavedRun:
    """A run folder.

    Attributes:
        path: the folder.
        result: result.json.
    """

    def __init__(self, path: Path, result: Mapping[str, Any]) -> None:
        self.path = path
        self.result = result
        self._rows = Rows(path / SAMPLES)
        self._looks = Looks(self)

    def __repr__(self) -> str:
        return f"<SavedRun {self.path}>"

    @cached_property
    def profiles(self) -> tuple[SavedProfile, ...]:
        """The profiles in the order in which they were given; of a scenario, those of its steps one after another."""
        kept: Counter[tuple[str, int]] = Counter()
        looked_at: Counter[tuple[str, int]] = Counter()
        profiles = []
        for step, entry in measured_profiles(self.result):
            spec, runs = entry["profile"], []
            for run in entry["runs"]:
                number = run["run"]
                key = spec, kept[spec, number], number
                kept[spec, number] += 1
                looks_key = None
                if any((run.get("resources") or {}).values()):
                    looks_key = spec, looked_at[spec, number], number
                    looked_at[spec, number] += 1
                runs.append(SavedRunOfProfile(number, run, self._rows, key, self._looks, looks_key))
            plan = entry["plan"]
            profiles.append(SavedProfile(spec, entry["args"], entry["limits"], plan, tuple(runs), entry, step or ""))
        return tuple(profiles)

    @property
    def resources(self) -> Iterator[dict[str, str]]:
        """The rows of resources.csv by column, as text; none where there is no such file."""
        path = self.path / RESOURCES
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                yield from csv.DictReader(file)


class Looks:
    """The rows of resources.csv of all runs, read at once when the first are asked for."""

    def __init__(self, saved: SavedRun) -> None:
        self._saved = saved

    @cached_property
    def runs(self) -> dict[Key, list[dict[str, str]]]:
        """Those of each run; where its time begins anew, another run begins."""
        lots: dict[Key, list[dict[str, str]]] = {}
        times: Counter[tuple[str, int]] = Counter()
        before, last_ns = ("", 0), 0
        for row in self._saved.resources:
            of_run, at_ns = (row["profile"], int(row["run"])), int(row["at_ns"])
            if of_run != before or at_ns < last_ns:
                lot = lots[(row["profile"], times[of_run], of_run[1])] = []
                times[of_run] += 1
            lot.append(row)
            before, last_ns = of_run, at_ns
        return lots


class Rows:
    """The rows of all runs, read at once when the first are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def runs(self) -> dict[Key, Samples]:
        """The samples of each run. Of a file that is cut short, what stands before the end."""
        reader = csv.reader(_lines(self.path))
        header = tuple(next(reader, ()))
        extra = header[len(_HEADER) :]
        if header[: len(_HEADER)] != _HEADER or not set(extra) <= set(EXTRA_COLUMNS):
            raise DataError(f"{self.path}: not a file of samples: its first line is not that of one")
        lots: dict[Key, list[list[str]]] = {}
        times: dict[tuple[str, str], int] = {}
        lot: list[list[str]] = []
        before = ("", "")
        for row in reader:
            if len(row) != len(header):
                break
            profile, run, request = row[0], row[1], row[2]
            if request == "0" or (profile, run) != before:
                before = (profile, run)
                if request == "0":
                    times[before] = times.get(before, -1) + 1
                lot = lots.setdefault((profile, times.get(before, 0), int(run)), [])
            lot.append(row[3:])
        return {key: samples_of(rows, extra) for key, rows in lots.items()}


def _lines(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            yield from file
    except (EOFError, zlib.error, gzip.BadGzipFile):  # cut short in the middle of a member
        return
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
