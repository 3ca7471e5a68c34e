"""The commands `rig scenarios` and `rig run`: the documents' experiments, held against what was predicted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from contextlib import closing as closed_after
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from loadgen import options as opt
from loadgen.command import create_file, tell
from loadgen.entry import all_is_loaded
from loadgen.errors import LoadgenError, UsageError
from loadgen.exit_codes import EXIT_INTERRUPTED, EXIT_MISSED, EXIT_NOTHING, EXIT_OK
from loadgen.report_cli import OpenReport, Report, ReportOptions
from rig.keep_cli import KeepOptions, Save
from rig.options import Config

if TYPE_CHECKING:
    from loadgen.redaction import Redaction
    from loadgen.run_folder import RunFolder
    from rig.scenario.loads import LoadOutcome
    from rig.scenario.outcome import Outcome
    from scenarios.scenario import Scenario
    from servers.catalog import Profile

RUN_EXAMPLES = """
\b
Examples:
  rig run sleep-400
  rig run sleep-400-python --runs 1 --profiles threads --profiles async
  rig run mine.toml --strict

\b
Exit codes: 0 measured; 1 with --strict, a prediction did not hold or could
not be trusted; 2 usage; 3 nothing could be measured; 130 interrupted, and
what was measured is printed.
"""


class ReportFormat(StrEnum):
    """How the outcome is written."""

    TEXT = "text"
    JSON = "json"


def scenarios() -> None:
    """Lists the scenarios, and how long each takes."""
    from rig.scenario.report import scenario_list
    from scenarios.load import load, names

    for line in scenario_list([load(name) for name in names()]):
        print(line)


def run(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE.toml", help="See rig scenarios.")],
    runs: Annotated[int | None, typer.Option("--runs", metavar="R", help="In place of the file's.")] = None,
    warmup: Annotated[int | None, typer.Option("--warmup", metavar="W", help="In place of the file's.")] = None,
    n: Annotated[
        int | None, typer.Option("-n", "--n", metavar="N", help="Requests a run, in place of the file's.")
    ] = None,
    profiles: Annotated[
        list[str] | None, typer.Option("--profiles", metavar="SPEC", help="Only this one; repeatable.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 unless every prediction held.")] = False,
    output_format: Annotated[
        ReportFormat, typer.Option("--output-format", help="text, or one JSON object.")
    ] = ReportFormat.TEXT,
    output: opt.Output = None,
    config: Config = None,
    resources: opt.Resources = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="Leave out the why: lines and the sentences.")] = False,
    save: Save = None,
    runs_dir: opt.RunsDir = None,
    run_name: opt.RunName = None,
    redact: opt.Redact = None,
    report: Report = None,
    open_report: OpenReport = False,
) -> None:
    """Carries a scenario out, and judges the outcome.

    What is measured is held against what was predicted and published.
    """
    for option, number in (("--runs", runs), ("--n", n)):
        if number is not None and not 1 <= number <= 1_000_000:
            raise UsageError(f"{option} {number} is not accepted: it takes 1 to 1000000")
    if warmup is not None and not 0 <= warmup <= 1000:
        raise UsageError(f"--warmup {warmup} is not accepted: it takes 0 to 1000")
    page = ReportOptions(report, open_report)
    page.check(kept=save is not False, otherwise="leave --no-save out")
    from loadgen.redaction import Redaction
    from rig.runs.saving import open_scenario_folder
    from rig.scenario.choice import Choice
    from rig.scenario.steps import check_steps
    from scenarios.load import load
    from servers.own.file import catalog

    redaction = Redaction(tuple(redact or ()))
    known = catalog(config)
    scenario = Choice(n, runs, warmup, tuple(profiles or ())).applied(load(name), known)
    check_steps(scenario, known)
    with ExitStack() as stack:
        out = sys.stdout if output is None else stack.enter_context(create_file("--output", output))
        keep = KeepOptions(save, runs_dir, run_name)
        folder = keep.open(lambda options: open_scenario_folder(options, scenario, known, redaction.names))
        if folder is not None:
            stack.enter_context(folder)
        printer = _Printer(out, output_format, redaction, quiet=quiet)
        try:
            code = _carry_out(scenario, known, printer, folder, strict=strict, resources=resources)
        finally:
            if folder is not None:
                page.write(folder, "rig")
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Printer:
    """Where the outcome goes, and how."""

    out: TextIO
    output_format: ReportFormat
    redaction: Redaction
    quiet: bool

    def lines(self, lines: Iterable[str]) -> None:
        """Lines of the text form, at once."""
        if self.output_format is ReportFormat.TEXT:
            for line in lines:
                print(line, file=self.out)
            self.out.flush()

    def document(self, data: dict[str, Any]) -> None:
        """The JSON object."""
        json.dump(self.redaction.data(data), self.out, indent=2)
        self.out.write("\n")
        self.out.flush()


def _carry_out(
    scenario: Scenario,
    known: Mapping[str, Profile],
    printer: _Printer,
    folder: RunFolder | None,
    *,
    strict: bool,
    resources: bool,
) -> int:
    """Carries it out, prints, keeps it in a folder, where there is one, and returns the exit code."""
    from rig.runs.saving import ScenarioSaving
    from rig.scenario.estimate import scenario_seconds
    from rig.scenario.loads import Beside
    from rig.scenario.report import all_held, closing, heading, scenario_data
    from rig.scenario.steps import carry_out_steps
    from rig.tasks.errors import TasksError
    from servers.errors import ServersError

    all_is_loaded()
    outcomes: list[Outcome] = []
    left_out: list[str] = []
    begin = list(heading(scenario, scenario_seconds(scenario, known)))
    saving = None if folder is None else ScenarioSaving(folder, scenario, begin)

    def leave_out(line: str) -> None:
        if line not in left_out:
            left_out.append(line)
            tell(f"rig: {line}")

    def keep(so_far: LoadOutcome) -> None:
        if saving is not None:
            saving.keep([*outcomes, so_far], left_out)

    printer.lines(begin)
    interrupted = False
    trouble: Exception | None = None
    try:
        beside = Beside(resources=resources, folder=folder, after_run=keep)
        with closed_after(carry_out_steps(scenario, known, leave_out, beside)) as steps:
            for outcome in steps:
                outcomes.append(outcome)
                printer.lines(outcome.lines(quiet=printer.quiet))
                interrupted = outcome.interrupted
    except KeyboardInterrupt:  # between two steps
        interrupted = True
    except (ServersError, LoadgenError, TasksError) as error:  # what the steps before measured is not lost by it
        trouble = error
    if outcomes or interrupted:
        printer.lines(closing(scenario, outcomes, quiet=printer.quiet, interrupted=interrupted))
    if printer.output_format is ReportFormat.JSON:
        printer.document(scenario_data(scenario, outcomes, left_out))
    if folder is not None and saving is not None:
        saving.finish(outcomes, left_out, interrupted=interrupted, ended=not interrupted and trouble is None)
        if (line := folder.note(quiet=printer.quiet)) is not None:
            tell(f"rig: {line}")
    if trouble is not None:
        raise trouble
    if interrupted:
        return EXIT_INTERRUPTED
    if not any(outcome.measured for outcome in outcomes):
        return EXIT_NOTHING
    return EXIT_MISSED if strict and not all_held(outcomes) else EXIT_OK
