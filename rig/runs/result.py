"""result.json of a run folder, of this schema version or an older one. Imports nothing heavy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from loadgen.errors import DataError

NAME: Final = "result.json"
RUNS_DIR: Final = Path("runs")
_SCHEMA: Final = "rig-run/"
VERSION: Final = 1
"""The newest that can be read."""

_KEYS: Final = ("name", "kind", "command", "time", "complete", "environment")


def read_result(folder: Path) -> dict[str, Any]:
    """What a run folder says, in the form of the newest version.

    Raises:
        DataError: it is no run folder, cannot be read, or was written by a later version.
    """
    path = folder / NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        schema = data["schema"]
        missing = [key for key in _KEYS if key not in data]
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; a run is a folder with a {NAME}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{path}: not the {NAME} of a run folder") from None
    number = str(schema).removeprefix(_SCHEMA)
    if not str(schema).startswith(_SCHEMA) or not number.isdecimal() or missing:
        raise DataError(f"{path}: not the {NAME} of a run folder: its schema is {schema!r}, not {_SCHEMA}{VERSION}")
    if int(number) > VERSION:
        raise DataError(f"{path}: written by a later loadrig ({schema}); this one reads up to {_SCHEMA}{VERSION}")
    result: dict[str, Any] = data
    return result


def measured_profiles(data: Mapping[str, Any]) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Each profile that was fired at, with the title of its step where it is one of a scenario."""
    yield from ((None, entry) for entry in data.get("profiles", ()))
    for step in data.get("steps", ()):
        yield from ((step["title"], entry) for entry in step.get("profiles", ()) if "runs" in entry)
