"""Reads what `rig diff` compares: a run folder, or the JSON that `rig compare` and `loadgen` print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loadgen.errors import DataError
from rig.diff.figures import Side

_RESULT: Final = "result.json"
_OF_SERVERS: Final = ("rig-run/1", "rig/1")
_OF_LOADGEN: Final = "loadgen/1"


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


def read_saved(path: Path) -> Saved:
    """The result in a run folder, or in a file of JSON.

    Raises:
        DataError: there is none, or it is not in a form that is known.
    """
    file = path / _RESULT if path.is_dir() else path
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}; name a run folder, or a file of --output-format json") from None
    except ValueError as error:
        raise DataError(f"{file}: not JSON: {error}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema not in (*_OF_SERVERS, _OF_LOADGEN):
        accepted = ", ".join((*_OF_SERVERS, _OF_LOADGEN))
        raise DataError(f"{file}: its schema is {schema!r}; accepted: {accepted}")
    try:
        profiles = tuple(_profiles(data))
        return Saved(path, data.get("complete", True), data["environment"], profiles)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{file}: not as {schema} is: {type(error).__name__} {error}") from None


def _profiles(data: Mapping[str, Any]) -> Iterator[SavedProfile]:
    if data["schema"] == _OF_LOADGEN:
        yield SavedProfile("", data["plan"], Side.of(data["runs"]))
    for entry in data.get("profiles", ()):
        yield _profile(entry, "")
    for step in data.get("steps", ()):
        for entry in step.get("profiles", ()):
            yield _profile(entry, f"{step.get('title', '')}: ")


def _profile(entry: Mapping[str, Any], before: str) -> SavedProfile:
    return SavedProfile(f"{before}{entry['profile']}", entry["plan"], Side.of(entry["runs"]))
