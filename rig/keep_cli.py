"""What commands that measure have in common about keeping it: the options, the folder, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.command import tell
from loadgen.errors import FolderError

if TYPE_CHECKING:
    from loadgen.run_folder import RunFolder
    from loadgen.saving import SaveOptions

Save = Annotated[
    bool | None,
    typer.Option("--save/--no-save", help="Keep all in a new folder; see rig runs. Default: where that is possible."),
]


@dataclass(frozen=True, slots=True)
class KeepOptions:
    """The options that say whether and where is kept what is measured, as given."""

    save: bool | None = None
    runs_dir: Path | None = None
    name: str | None = None

    def open(self, make: Callable[[SaveOptions], RunFolder]) -> RunFolder | None:
        """The folder that `make` opens. None where none is wanted, or can be had and none was asked for by name.

        Raises:
            loadgen.errors.UsageError: the name is not accepted.
            loadgen.errors.FolderError: it was asked for, and cannot be made.
        """
        if self.save is False:
            return None
        from loadgen.saving import SaveOptions

        try:
            return make(SaveOptions(self.runs_dir, self.name))
        except FolderError as error:
            if self.save or self.runs_dir is not None:
                raise
            tell(f"rig: nothing will be kept: {error}, or say --no-save")
            return None
