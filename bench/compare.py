"""How long the main comparison takes, start and stop of its servers included."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from bench.clients.loadgen import console_command
from bench.errors import ReadingError
from bench.figure import Figure, Section, Table, spread, times
from bench.processes import run
from bench.rounds import interleave
from bench.settings import Settings

_ARGUMENTS: Final = ("threads", "threads:threads=400", "async", "--n", "400", "--runs", "5")
_QUICK_ARGUMENTS: Final = ("threads", "async", "--n", "20", "--runs", "1")
_BOUND_S: Final = 30


def measure_compare(settings: Settings) -> Section:
    """The command as the README has it."""
    arguments = _QUICK_ARGUMENTS if settings.quick else _ARGUMENTS
    name = f"rig compare {' '.join(arguments)}"
    taken: dict[str, list[float]] = {}
    if find_spec("rig.__main__") is not None:
        command = [console_command("rig"), "compare", "--no-save", *arguments]

        def one(_: str) -> float:
            finished = run(command, limit_s=300)
            if finished.complaint:
                raise ReadingError(finished.complaint)
            return finished.wall_s

        taken = interleave(settings.rounds, [name], one, what="compare", show=lambda wall_s: f"{wall_s:.1f} s")
    return Section(
        "Comparison",
        f"Wall of the whole command; {times(settings.rounds, 'round')}.",
        figures=[Figure(f"`{name}`", tuple(taken.get(name, ())), "<", _BOUND_S, "s", 1)],
        tables=[Table(("command", "wall, s"), [(f"`{name}`", spread(taken.get(name, []), 1))])],
    )
