"""Reads what `rig diff` compares: a run folder, or the JSON that `rig compare` and `loadgen` print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loadgen.errors import DataError
from rig.diff.figures import Side
from rig.runs.listing import find
from rig.runs.result import RUNS_DIR, measured_profiles, read_result

_OF_LOADGEN: Final = "loadgen/1"
_KNOWN: Final = ("rig-run/1", "rig/1", _OF_LOADGEN)


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """What was measured at one server."""

    name: str
    """The profile's spec, after the step's title in a scenario; empty where `loadgen` measured a URL."""
    plan: Mapping[str, Any]
    side: Side


@dataclass(frozen=True, slots=True)
class Saved:
    """A result that was written earlier."""

    path: Path
    complete: bool
    environment: Mapping[str, Any]
    profiles: tuple[SavedProfile, ...]


def read_saved(result: str | Path, runs_dir: Path = RUNS_DIR) -> Saved:
    """The result in a run folder (see `rig.runs.listing.find`), or in a file of JSON.

    Raises:
        loadgen.errors.UsageError: there is no such run, or more than one could be meant.
        DataError: it is not in a form that is known.
    """
    path = Path(result)
    if path.is_file():
        data = _read_json(path)
    else:
        path = find(result, runs_dir)
        data = read_result(path)
    try:
        profiles = tuple(_profiles(data))
        return Saved(path, data.get("complete", True), data["environment"], profiles)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not as {data['schema']} is: {type(error).__name__} {error}") from None


def _read_json(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}; name a run folder, or a file of --output-format json") from None
    except ValueError as error:
        raise DataError(f"{file}: not JSON: {error}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema not in _KNOWN:
        raise DataError(f"{file}: its schema is {schema!r}; accepted: {', '.join(_KNOWN)}")
    printed: dict[str, Any] = data
    return printed


def _profiles(data: Mapping[str, Any]) -> Iterator[SavedProfile]:
    if data["schema"] == _OF_LOADGEN:
        yield SavedProfile("", data["plan"], Side.of(data["runs"]))
    for step, entry in measured_profiles(data):
        before = "" if step is None else f"{step}: "
        yield SavedProfile(f"{before}{entry['profile']}", entry["plan"], Side.of(entry["runs"]))
