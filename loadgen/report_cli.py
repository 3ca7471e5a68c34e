"""The report of a run folder, written beside what is kept there: the options, and the call of what writes it.

Reports are made by the package `rig`, which this one must not import. It names what makes one as an entry point of the
group GROUP in pyproject.toml; where no such package is installed, nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from loadgen.command import tell
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.run_folder import RunFolder

GROUP: Final = "loadgen.report"
"""Each entry point of it takes the path of a run folder, and gives that of the page it has written."""

Report = Annotated[
    bool | None,
    typer.Option("--report/--no-report", help="Write report.html into the folder that is kept. Default: yes."),
]
OpenReport = Annotated[bool, typer.Option("--open", help="Open that report.")]


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The options about the report, as given."""

    report: bool | None = None
    open_it: bool = False

    def check(self, *, kept: bool, otherwise: str) -> None:
        """Refuses a report of what is not kept; `otherwise`: what keeps it.

        Raises:
            UsageError: one was asked for.
        """
        if not kept and (self.report or self.open_it):
            raise UsageError(f"--report and --open are about what is kept: {otherwise}")
        if self.report is False and self.open_it:
            raise UsageError("--open shows what --no-report leaves out: leave one of them out")

    def write(self, folder: RunFolder, program: str) -> None:
        """Writes the report, and opens it where that is wanted. One that cannot be made is told of, and ends nothing.

        To be called when all is printed and kept, and nothing is measured any more. A Ctrl-C leaves it out.
        """
        if self.report is False or not folder.holds_runs or folder.trouble is not None:
            return
        try:
            page = _written(folder.path)
        except KeyboardInterrupt:
            return
        except Exception as error:  # also a defect of ours: what was measured, and the exit code, stand
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            tell(f"{program}: no report was written: {reason}; rig report {folder.path} writes one")
            return
        if page is not None and self.open_it:
            import webbrowser

            webbrowser.open(page.resolve().as_uri())


def _written(folder: Path) -> Path | None:
    """Has the report written, by the first that can; None where there is none that could."""
    from importlib.metadata import entry_points

    for maker in entry_points(group=GROUP):
        page: Path = maker.load()(folder)
        return page
    return None
