"""The commands `rig runs`, `rig show` and `rig rerun`: what was kept, listed, printed and carried out again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.command import tell
from loadgen.errors import UsageError
from rig.options import RunsDir
from rig.runs.result import RUNS_DIR

if TYPE_CHECKING:
    from rig.runs.saved import SavedRun

RERUN_EXAMPLES = """
\b
Examples:
  rig rerun latest
  rig rerun 20261130T2205
  rig rerun before-upgrade -H 'Authorization: Bearer ...'

\b
Exit codes: those of the command that is carried out again.
"""

WhichRun = Annotated[str, typer.Argument(metavar="RUN", help="A folder, its name or the beginning of it, or latest.")]


def runs(runs_dir: RunsDir = RUNS_DIR) -> None:
    """Lists what was kept, oldest first."""
    from rig.runs.listing import folders, table

    there = folders(runs_dir)
    if not there:
        tell(f"rig: no run in {runs_dir}; rig compare, rig run and loadgen --save keep theirs there")
    for line in table(there):
        print(line)


def show(
    run: WhichRun,
    runs_dir: RunsDir = RUNS_DIR,
    quiet: Annotated[bool, typer.Option("--quiet", help="Leave out the why: lines and the notes.")] = False,
) -> None:
    """Prints a run again, as it was printed when it was new."""
    from rig.runs.again import lines
    from rig.runs.saved import load

    saved = load(run, runs_dir)
    for line in lines(saved, quiet=quiet):
        print(line)
    if not saved.result["complete"] and not quiet:
        tell(f"rig: {saved.path} is incomplete: it was interrupted, or could not be written to its end")


def rerun(context: typer.Context, run: WhichRun, runs_dir: RunsDir = RUNS_DIR) -> None:
    """Carries a run out again with the same options, and compares.

    What follows RUN is added to them: a header whose value was not kept must be given again.
    """
    from rig.runs.listing import folders
    from rig.runs.rerun import arguments_again
    from rig.runs.saved import load

    old = load(run, runs_dir)
    arguments = arguments_again(old.result["command"], context.args)
    before = set(folders(runs_dir))
    code = _carry_out(old.result["kind"], [*arguments, "--save", "--runs-dir", str(runs_dir), "--name", _name(old)])
    new = [path for path in folders(runs_dir) if path not in before]
    if new:
        saved = load(new[-1])
        if saved.profiles:
            _compare(old, saved)
    raise typer.Exit(code)


def _name(run: SavedRun) -> str:
    return str(run.result["name"])


def _carry_out(kind: str, arguments: list[str]) -> int:
    """Carries the command out in this process and returns its exit code."""
    if kind == "loadgen":
        from loadgen.cli import main as command
    elif kind in ("compare", "run"):
        from rig.cli import main as command
    else:
        raise UsageError(f"a run of kind {kind!r} cannot be carried out again; compare, run and loadgen can")
    # What is kept of the new run names the command that was carried out, not this one.
    sys.argv = ["loadgen" if kind == "loadgen" else "rig", *arguments]
    return command(arguments)


def _compare(old: SavedRun, new: SavedRun) -> None:
    from rig.diff.results import diff_results, lines
    from rig.diff.saved import read_saved

    print()
    for line in lines(diff_results(read_saved(old.path), read_saved(new.path), anyway=True), ()):
        print(line)
