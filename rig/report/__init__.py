"""Saved runs as one HTML file that works without a network, and their charts as pictures.

saved -> sides (what is held against each other) -> frames (numbers) -> charts (Vega-Lite) -> figures -> page. Pure, but
for reading the runs and writing the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


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
        out.write_text(page(saved, of_runs, drawn, javascript), encoding="utf-8")
    for folder, write in ((png, pictures.write_png), (svg, pictures.write_svg)):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for figure in drawn.figures:
                write(figure, folder)
