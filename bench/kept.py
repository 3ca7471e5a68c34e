"""What it takes to look at a saved run: its report, and its text again."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.clients.loadgen import console_command
from bench.errors import ReadingError
from bench.figure import Figure, Section, Table, spread, times
from bench.processes import run
from bench.rounds import interleave, say
from bench.settings import Settings

_PROFILES: Final = ("calibrated:limit=64,service_ms=1", "calibrated:limit=32,service_ms=1", "async")
_CONNECTIONS: Final = 64
_RUNS: Final = 5
_REQUESTS: Final = 10_000
_QUICK_RUNS: Final = 1
_QUICK_REQUESTS: Final = 200
_BOUND_REPORT_S: Final = 5
_BOUND_REPORT_MB: Final = 8
_BOUND_SHOW_S: Final = 0.5

_REPORT: Final = "rig report RUN"
_SHOW: Final = "rig show RUN"
_NOTHING: Final = "python -c pass"


@dataclass(frozen=True, slots=True)
class _Taken:
    wall_s: float
    cpu_s: float


def measure_kept(settings: Settings) -> Section:
    """A report of a real comparison, and its text, in turn with an interpreter that does nothing."""
    runs, requests = (_QUICK_RUNS, _QUICK_REQUESTS) if settings.quick else (_RUNS, _REQUESTS)
    taken: dict[str, list[_Taken]] = {}
    sizes_mb: list[float] = []
    with tempfile.TemporaryDirectory(prefix="loadrig-bench-") as place:
        page = Path(place) / "report.html"
        try:
            folder = _measured(Path(place), runs, requests)
        except ReadingError as error:
            say(f"report: {error}; it is left out")
        else:
            commands = {
                _REPORT: [console_command("rig"), "report", str(folder), "-o", str(page)],
                _SHOW: [console_command("rig"), "show", str(folder)],
                _NOTHING: [sys.executable, "-c", "pass"],
            }

            def one(name: str) -> _Taken:
                finished = run(commands[name])
                if finished.complaint:
                    raise ReadingError(finished.complaint)
                if name == _REPORT:
                    sizes_mb.append(page.stat().st_size / 1e6)
                return _Taken(finished.wall_s, finished.cpu_s)

            for command in commands.values():  # what is made once and cached is there from here on
                if complaint := run(command).complaint:
                    say(f"kept: {complaint}")
            taken = interleave(settings.rounds, commands, one, what="kept", show=lambda each: f"{each.wall_s:.2f} s")
    walls = {name: tuple(each.wall_s for each in of_name) for name, of_name in taken.items()}
    data = f"{times(runs, 'run')} x {requests:,} requests x {len(_PROFILES)} profiles"
    return Section(
        "Looking at a saved run",
        f"A real comparison of {data}, {_CONNECTIONS} connections, kept in a run folder; then wall and CPU of the whole"
        f" command, {times(settings.rounds, 'round')} in turn with an interpreter that does nothing. Each was started"
        " once before: bytecode, and the report's JavaScript, which is put together once a version, are cached.",
        figures=[
            Figure(f"{_REPORT}, {data}", walls.get(_REPORT, ()), "<", _BOUND_REPORT_S, "s", 2),
            Figure("its size", tuple(sizes_mb), "<", _BOUND_REPORT_MB, "MB", 1),
            Figure(_SHOW, walls.get(_SHOW, ()), "<", _BOUND_SHOW_S, "s", 2),
        ],
        tables=[
            Table(
                ("command", "wall, s", "CPU, s"),
                [
                    (f"`{name}`", spread(walls[name], 2), spread([each.cpu_s for each in of_name], 2))
                    for name, of_name in taken.items()
                ],
            )
        ],
    )


def _measured(place: Path, runs: int, requests: int) -> Path:
    """The run folder of a comparison that has all its rows.

    Raises:
        ReadingError: there is none.
    """
    options = ["-c", str(_CONNECTIONS), "--n", str(requests), "--runs", str(runs), "--no-report", "--quiet"]
    say(f"kept: measuring {times(runs, 'run')} of {requests:,} requests at each of {len(_PROFILES)} profiles")
    command = [console_command("rig"), "compare", *_PROFILES, "--path", "/sleep?ms=1", *options]
    finished = run([*command, "--runs-dir", str(place / "runs")], limit_s=600)
    if finished.complaint:
        raise ReadingError(finished.complaint)
    (folder,) = (place / "runs").iterdir()
    result = json.loads((folder / "result.json").read_text())
    kept = [one["requests"] for profile in result["profiles"] for one in profile["runs"]]
    if not result["complete"] or kept != [requests] * runs * len(_PROFILES):
        raise ReadingError(f"{folder} is not complete")
    return folder
