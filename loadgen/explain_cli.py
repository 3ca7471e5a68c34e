"""The command `loadgen explain`: the findings again, from a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadgen import options as opt
from loadgen.command import HELP_OPTIONS
from loadgen.errors import DataError, UsageError
from loadgen.exit_codes import EXIT_NOTHING, EXIT_OK
from loadgen.units import parse_whole_ms

_EXAMPLES = """
\b
Examples:
  loadgen URL --n 400 --samples runs.csv
  loadgen explain runs.csv
  loadgen explain runs.csv --over 500ms --output-format json
"""

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=HELP_OPTIONS
)


@app.command(epilog=_EXAMPLES)
def explain(
    file: Annotated[Path, typer.Argument(metavar="SAMPLES", help="Written by --samples: .csv, .json or .parquet.")],
    over: Annotated[
        str | None, typer.Option("--over", metavar="TIME", help="A request is late above this. Default: as then.")
    ] = None,
    output_format: opt.Format = opt.OutputFormat.TEXT,
) -> None:
    """Says why, from a saved run.

    Reads what was seen beside the samples (FILE.evidence.json) where it is there. Without it, the samples alone are
    explained, and the causes say what they could not see.
    """
    if output_format not in (opt.OutputFormat.TEXT, opt.OutputFormat.JSON):
        raise UsageError("--output-format takes text or json here")
    over_ms = None if over is None else parse_whole_ms("--over", over)

    from loadgen.explain_saved import as_document, as_text, read_runs

    try:
        runs = read_runs(file, over_ms)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; name a file written by --samples") from None
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    for line in as_document(runs) if output_format is opt.OutputFormat.JSON else as_text(runs):
        print(line)
    raise typer.Exit(EXIT_OK if any(run.summary.ok for run in runs) else EXIT_NOTHING)
