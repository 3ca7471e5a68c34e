"""Saved runs as one HTML file that works without a network, and their charts as pictures.

saved -> sides (what is held against each other) -> frames (numbers) -> charts (Vega-Lite) -> figures -> page. Pure, but
for reading the runs and writing the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from loadgen.errors import DataError
from rig.runs.result import measured_profiles, read_result

NAME: Final = "report.html"
MOST_UNASKED: Final = 500_000
"""Requests of a folder whose report is made without being asked for: some seconds of a core, and 400 MB of memory."""


def write_beside(folder: Path) -> Path:
    """Writes the report of one run folder into it, and gives its path. `loadgen.report_cli` calls it.

    Raises:
        loadgen.errors.DataError: there are too many requests for that; and as `write_report` does.
    """
    requests = sum(run["requests"] for _, entry in measured_profiles(read_result(folder)) for run in entry["runs"])
    if requests > MOST_UNASKED:
        raise DataError(f"of {requests:,} requests it takes long and much memory")
    page = folder / NAME
    write_report([folder], page)
    return page


def write_report(paths: Sequence[str | Path], out: Path, *, png: Path | None = None, svg: Path | None = None) -> None:
    """Writes the report of the runs at these paths (folders, or names under `runs/`) to a file.

    Args:
        paths: what `rig.runs.saved.load` takes; one or more.
        out: the HTML file.
        png, svg: folders to which each chart is written too, made where they are missing.

    Raises:
        loadgen.errors.UsageError: there is no such run.
        loadgen.errors.DataError: a run cannot be read.
        OSError: a file cannot be written.
    """
    from rig.report import bundle, pictures
    from rig.report.page import draw, page
    from rig.report.sides import sides
    from rig.runs.saved import load

    with bundle.javascript() as javascript:
        saved = [load(path) for path in paths]
        of_runs = sides(saved)
        drawn = draw(of_runs)
        _replace(out, page(saved, of_runs, drawn, javascript))
    for folder, write in ((png, pictures.write_png), (svg, pictures.write_svg)):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for figure in drawn.figures:
                write(figure, folder)


def _replace(file: Path, text: str) -> None:
    """Writes it as a whole: until all of it is there, what stood there before does."""
    new = file.with_name(f"{file.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(file)
    except BaseException:  # a Ctrl-C too
        new.unlink(missing_ok=True)
        raise
