"""What run folders there are, which one is meant, and a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from loadgen.errors import DataError, UsageError
from rig.columns import aligned
from rig.runs.result import NAME, RUNS_DIR, measured_profiles, read_result

LATEST = "latest"

_SHOWN_OF_MANY = 5


def folders(runs_dir: Path = RUNS_DIR) -> list[Path]:
    """The run folders in a folder, oldest first: their names begin with the time."""
    try:
        return sorted(path for path in runs_dir.iterdir() if (path / NAME).is_file())
    except OSError:
        return []


def find(run: str | Path, runs_dir: Path = RUNS_DIR) -> Path:
    """The folder that is meant: by its path, its name or the beginning of it, the name it was given, or `latest`.

    Of several with the same given name it is the last.

    Raises:
        UsageError: there is none, or more than one could be meant.
    """
    if (Path(run) / NAME).is_file():
        return Path(run)
    there, wanted = folders(runs_dir), str(run)
    if wanted == LATEST and there:
        return there[-1]
    named = [path for path in there if wanted in (path.name, given_name(path))]
    if named:
        return named[-1]
    begun = [path for path in there if path.name.startswith(wanted) or given_name(path).startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        names = ", ".join(path.name for path in begun[-_SHOWN_OF_MANY:])
        raise UsageError(f"run {wanted!r} may be any of {len(begun)}: {names}; name one")
    here = f"the last is {there[-1].name}" if there else "there is none"
    raise UsageError(f"no run {wanted!r} in {runs_dir}: {here}; a run is a folder, its name, or latest. See rig runs")


def given_name(path: Path) -> str:
    """The name of a folder without its time."""
    return path.name.partition("-")[2]


def table(paths: Sequence[Path]) -> Iterator[str]:
    """A line a folder; nothing for none."""
    if paths:
        yield from aligned([["run", "kind", "profile", "runs", "median wall_ms", ""], *_rows(paths)])


def _rows(paths: Sequence[Path]) -> Iterator[list[str]]:
    for path in paths:
        try:
            result = read_result(path)
        except DataError:
            yield [path.name, "", "", "", "", "cannot be read"]
            continue
        state = "" if result["complete"] else "incomplete"
        kind, names = result["kind"], path.name
        nothing: dict[str, Any] = {"profile": "", "runs": []}
        for step, entry in [*measured_profiles(result)] or [(None, nothing)]:
            profile = f"{step}: {entry['profile']}" if step else entry["profile"]
            yield [names, kind, profile, str(len(entry["runs"])), _median_wall(entry["runs"]), state]
            names = kind = state = ""


def _median_wall(runs: Sequence[dict[str, Any]]) -> str:
    walls = [run["wall_ms"] for run in runs if run["ok"] and not run["interrupted"] and run["wall_ms"] is not None]
    return f"{median(walls):.0f}" if walls else "n/a"
