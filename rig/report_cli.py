"""The command `rig report`: saved runs as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadgen.errors import UsageError

REPORT_EXAMPLES = """
\b
Examples:
  rig report latest
  rig report 20261130T220500Z-threads -o report.html
  rig report before after -o both.html --png pictures

\b
Exit codes: 0 written; 2 usage, or a run that cannot be read.
"""


def report(
    run: Annotated[list[Path], typer.Argument(metavar="RUN...", help="A folder, a name under runs/, or latest.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.html", help="Default: report.html in the run's folder."),
    ] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="DIR", help="Write each chart as PNG too.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="DIR", help="Write each chart as SVG too.")] = None,
) -> None:
    """Writes one HTML file that shows saved runs.

    It needs no network, and nothing beside it. Several runs are held against each other on the same charts.
    """
    if output is None and len(run) > 1:
        raise UsageError("of several runs, -o FILE.html must say where to")
    if output is not None and output.suffix not in (".html", ".htm"):
        raise UsageError(f"-o {output}: the name must end in .html")
    from rig.report import NAME, write_report
    from rig.runs.listing import find

    out = find(run[0]) / NAME if output is None else output
    write_report(run, out, png=png, svg=svg)
    print(out)
