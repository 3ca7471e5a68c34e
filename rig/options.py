"""Options that several commands of `rig` share. Imports nothing heavy: a `--help` must come at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Your own servers. Default: rig.toml here, if there is one."),
]

FailIfs = Annotated[
    list[str] | None,
    typer.Option("--fail-if", metavar="BOUND", help="Repeatable: 'p99 worse by 10%'. Exit code 1 where it is."),
]
RunsDir = Annotated[Path, typer.Option("--runs-dir", metavar="DIR", help="Where run folders are.")]
