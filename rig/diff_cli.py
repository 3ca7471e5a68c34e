"""The command `rig diff`: holds one result against another."""

from __future__ import annotations

import json
from typing import Annotated, Final

import typer

from loadgen import options as opt
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_MISSED, EXIT_OK
from rig.options import FailIfs, RunsDir
from rig.runs.result import RUNS_DIR

DIFF_EXAMPLES = """
\b
Examples:
  rig diff before after
  rig diff before.json after.json --fail-if 'p99 worse by 10%'
  rig diff before.json after.json --anyway --output-format json

\b
Exit codes: 0 compared; 1 a --fail-if was not passed; 2 usage, or not measured
alike.
"""

_RESULT_HELP: Final = "A run, or a file of JSON of rig compare or loadgen."


def diff(
    run_a: Annotated[str, typer.Argument(metavar="RUN_A", help=_RESULT_HELP)],
    run_b: Annotated[str, typer.Argument(metavar="RUN_B", help=_RESULT_HELP)],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare what was not measured alike, and say what differs.")
    ] = False,
    fail_if: FailIfs = None,
    runs_dir: RunsDir = RUNS_DIR,
    output_format: opt.Format = opt.OutputFormat.TEXT,
) -> None:
    """Holds one result against another: better, worse, or no difference seen.

    For each profile that both have: wall, p50, p99, throughput and failures, their medians over the runs and what
    the Mann-Whitney test says of the runs. Results of another environment or plan are refused.
    """
    if output_format not in (opt.OutputFormat.TEXT, opt.OutputFormat.JSON):
        raise UsageError("--output-format takes text or json here")
    from rig.diff.fail_if import judge_all, parse_fail_if
    from rig.diff.results import data, diff_results, lines
    from rig.diff.saved import read_saved

    bounds = [parse_fail_if(text) for text in fail_if or ()]
    result = diff_results(read_saved(run_a, runs_dir), read_saved(run_b, runs_dir), anyway=anyway)
    judged = judge_all(result.compared, bounds)
    if output_format is opt.OutputFormat.JSON:
        print(json.dumps(data(result, judged), indent=2))
    else:
        for line in lines(result, judged):
            print(line)
    raise typer.Exit(EXIT_OK if all(each.passed for each in judged) else EXIT_MISSED)
