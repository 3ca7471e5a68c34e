"""A command that kept its runs, for tests of what was kept."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from rig.runs.saved import SavedRun, load
from tests.rig.support import Place


@dataclass(frozen=True, slots=True)
class Kept:
    """What a command printed, and the folder in `runs_dir` that it kept its runs in."""

    place: Place
    runs_dir: Path
    stdout: str
    stderr: str

    @property
    def folder(self) -> Path:
        """The only one there is."""
        (folder,) = self.runs_dir.iterdir()
        return folder

    @property
    def run(self) -> SavedRun:
        """That folder, read back."""
        return load(self.folder)

    def rig(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command on what is kept there."""
        return self.place.run(*arguments, "--runs-dir", str(self.runs_dir))
