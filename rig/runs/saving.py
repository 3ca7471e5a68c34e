"""A comparison into a run folder, as it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadgen.plan import Plan
from loadgen.run_folder import RunFolder
from loadgen.saving import SaveOptions
from rig.compare import Measured
from rig.diff.fail_if import FailIf
from rig.render import comparisons_data, profiles_data
from servers.catalog import Instance


def open_folder(instances: Sequence[Instance], plan: Plan, runs_dir: Path | None, name: str | None) -> RunFolder:
    """A new folder for a comparison of these.

    Raises:
        loadgen.errors.UsageError: the name is not accepted.
        loadgen.errors.FolderError: the folder cannot be made.
    """
    names = [instance.profile.name for instance in instances]
    return SaveOptions(runs_dir, name).open("rig", "compare", names, plan, runtime_versions(instances))


def runtime_versions(instances: Sequence[Instance]) -> dict[str, str]:
    """The version of each runtime that is not this Python and that one of these is on, by the runtime's name."""
    runtimes = [instance.profile.runtime for instance in instances if instance.profile.runtime is not None]
    return {runtime.name: runtime.find().version for runtime in runtimes}


class Saving:
    """Keeps what has been measured so far in a folder."""

    def __init__(self, folder: RunFolder, measured: Sequence[Measured]) -> None:
        """`measured` fills as the comparison goes on."""
        self._folder, self._measured = folder, measured
        self._added: set[tuple[int, int]] = set()

    def keep(self) -> None:
        """Adds the runs that have ended since the last call. What they come to beside each other is left to the end."""
        new = False
        for index, entry in enumerate(self._measured):
            for run in entry.runs:
                key = (index, run.number)
                if key not in self._added:
                    self._folder.add(run, entry.instance.spec)
                    self._added.add(key)
                    new = True
        if new:
            self._write()

    def finish(self, fail_if: Sequence[FailIf] = (), *, complete: bool, quiet: bool) -> str | None:
        """Keeps the rest, and what was found out last; returns a line for the user, where there is something to say."""
        self.keep()
        if self._added:
            self._write(comparisons_data(self._measured, fail_if))
        self._folder.finish(complete=complete)
        return self._folder.note(quiet=quiet)

    def _write(self, comparisons: Sequence[dict[str, Any]] = ()) -> None:
        evidence = [((entry.instance.spec, run.number), run.evidence) for entry in self._measured for run in entry.runs]
        self._folder.keep({"profiles": profiles_data(self._measured), "comparisons": [*comparisons]}, evidence)
