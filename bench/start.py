"""How long a user waits for `loadgen --help`."""

from __future__ import annotations

import sys
from typing import Final

from bench.clients.loadgen import console_command
from bench.errors import ReadingError
from bench.figure import Figure, Section, Table, spread
from bench.processes import run
from bench.rounds import interleave
from bench.settings import Settings

_TIMES: Final = 15
_QUICK_TIMES: Final = 3
_BOUND_S: Final = 0.15
_HELP: Final = "loadgen --help"


def measure_start(settings: Settings) -> Section:
    """The command, and an interpreter that does nothing, in turn."""
    times = _QUICK_TIMES if settings.quick else _TIMES
    commands = {_HELP: [console_command("loadgen"), "--help"], "python -c pass": [sys.executable, "-c", "pass"]}

    def one(name: str) -> float:
        finished = run(commands[name], limit_s=30)
        if finished.complaint:
            raise ReadingError(finished.complaint)
        return finished.wall_s

    taken = interleave(times, commands, one, what="start", show=lambda wall_s: f"{wall_s:.3f} s")
    return Section(
        "Start",
        f"Wall of the whole process, {times} times in turn with an interpreter that does nothing.",
        figures=[Figure(_HELP, tuple(taken.get(_HELP, ())), "<", _BOUND_S, "s", 3)],
        tables=[Table(("command", "wall, s"), [(name, spread(taken.get(name, []), 3)) for name in commands])],
    )
