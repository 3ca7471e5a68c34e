"""The command `rig compare`: fires at several profiles in turns."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from loadgen import options as opt
from loadgen.command import create_file, tell
from loadgen.entry import all_is_loaded
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_INTERRUPTED, EXIT_MISSED, EXIT_NOTHING, EXIT_OK
from loadgen.load_options import LoadOptions
from loadgen.report_cli import OpenReport, Report, ReportOptions
from rig.build_cli import build_first
from rig.keep_cli import KeepOptions, Save
from rig.options import Config, FailIfs

if TYPE_CHECKING:
    from rig.diff.fail_if import FailIf
    from rig.measured import Measured
    from servers.catalog import Instance

COMPARE_EXAMPLES = """
\b
Examples:
  rig compare threads threads:threads=400 async --n 400 --runs 5
  rig compare greenlets:backlog=100 greenlets:backlog=1000 --n 400
  rig compare threads async --path /json -n 20000 -c 64 --output-format json
  rig compare --cmd 'gunicorn -b 127.0.0.1:{port} app:app' --path /slow --n 50
  rig compare threads async --n 400 --runs 8 --fail-if 'p99 worse by 10%'

\b
Exit codes: 0 measured; 1 an objective (--slo) was missed, or a --fail-if not
passed; 2 usage; 3 a server did not start, or every request failed;
130 interrupted, and what was measured is printed.
"""

Specs = Annotated[
    list[str] | None,
    typer.Argument(metavar="PROFILE...", help="As in threads, or threads:threads=400,backlog=100. See rig profiles."),
]

Commands = Annotated[
    list[str] | None,
    typer.Option("--cmd", metavar="COMMAND", help="A server of your own, told its {port}. Repeatable."),
]

Ready = Annotated[
    str | None,
    typer.Option("--ready", metavar="PATH", help="Asked of each --cmd until it answers. Default: /."),
]

SamplesFile = Annotated[
    Path | None,
    typer.Option("--samples", metavar="FILE.csv", help="Write each request's row too."),
]


def compare(
    profile: Specs = None,
    cmd: Commands = None,
    ready: Ready = None,
    config: Config = None,
    path: Annotated[str, typer.Option("--path", metavar="PATH", help="What is asked for.")] = "/sleep",
    sequential: Annotated[
        bool, typer.Option("--sequential", help="All runs of one profile, then the next; not in turns.")
    ] = False,
    n: opt.Requests = None,
    concurrency: opt.Concurrency = None,
    duration: opt.Duration = None,
    think: opt.Think = "0",
    rate: opt.Rate = None,
    arrivals: opt.Arrivals = opt.ArrivalsName.CONSTANT,
    seed: opt.Seed = 0,
    max_in_flight: opt.MaxInFlight = None,
    stage: opt.Stages = None,
    slo: opt.Objectives = None,
    workers: opt.Workers = "1",
    runs: opt.Runs = 1,
    warmup: opt.Warmup = 0,
    pause: opt.Pause = "0",
    preconnect: opt.Preconnect = False,
    disable_keepalive: opt.DisableKeepalive = False,
    engine: opt.Engine = opt.EngineName.WIRE,
    server_timing: opt.ServerTiming = False,
    method: opt.Method = None,
    header: opt.Headers = None,
    body: opt.Body = None,
    body_file: opt.BodyFile = None,
    over: opt.Over = "1500ms",
    timeout: opt.Timeout = "60s",
    connect_timeout: opt.ConnectTimeout = None,
    output_format: opt.Format = opt.OutputFormat.TEXT,
    output: opt.Output = None,
    samples: SamplesFile = None,
    resources: opt.Resources = True,
    quiet: opt.Quiet = False,
    fail_if: FailIfs = None,
    save: Save = None,
    runs_dir: opt.RunsDir = None,
    name: opt.RunName = None,
    redact: opt.Redact = None,
    report: Report = None,
    open_report: OpenReport = False,
) -> None:
    """Fires at several profiles in turns.

    The profiles come first, then the commands. Starts each in a process of its own on a free port, waits until all
    are ready, interleaves the runs, prints each one's block and a table of medians, and stops everything it started.
    """
    if not path.startswith("/"):
        raise UsageError(f"--path {path!r} is not accepted: it must begin with /")
    if samples is not None and samples.suffix != ".csv":
        raise UsageError(f"--samples {samples}: the name must end in .csv")
    if samples is not None and output is not None and samples.resolve() == output.resolve():
        raise UsageError(f"--output and --samples are both {output}: name two files")
    request = opt.RequestOptions(method, tuple(header or ()), body, body_file)
    load = LoadOptions(
        n=n,
        concurrency=concurrency,
        runs=runs,
        warmup=warmup,
        pause=pause,
        preconnect=preconnect,
        disable_keepalive=disable_keepalive,
        engine=engine,
        over=over,
        timeout=timeout,
        connect_timeout=connect_timeout,
        duration=duration,
        think=think,
        rate=rate,
        arrivals=arrivals,
        seed=seed,
        max_in_flight=max_in_flight,
        stages=tuple(stage or ()),
        server_timing=server_timing,
        slo=tuple(slo or ()),
        workers=workers,
        redact=tuple(redact or ()),
    )
    plan = load.plan(request.target(f"http://127.0.0.1{path}"))

    from loadgen.preflight import check_capacity
    from rig.compare import Comparison
    from rig.diff.fail_if import parse_fail_if
    from rig.runs.saving import Saving, open_folder
    from rig.turns import carry_out

    page = ReportOptions(report, open_report)
    page.check(kept=save is not False, otherwise="leave --no-save out")
    bounds = [parse_fail_if(text) for text in fail_if or ()]
    instances = _instances(profile or [], cmd or [], ready, config)
    if bounds and len(instances) < 2:
        raise UsageError("--fail-if holds each profile against the first: name two or more")
    check_capacity(plan)  # as the options and specs: found out before a server starts
    for instance in instances:
        instance.require_runtime()
    all_is_loaded()
    build_first(instances)
    with ExitStack() as stack:
        out = sys.stdout if output is None else stack.enter_context(create_file("--output", output))
        samples_file = None if samples is None else stack.enter_context(create_file("--samples", samples))
        folder = KeepOptions(save, runs_dir, name).open(lambda options: open_folder(options, instances, plan))
        if folder is not None:
            stack.enter_context(folder)
        comparison = Comparison(
            instances, lambda base: load.plan(request.target(f"{base}{path}")), resources=resources, folder=folder
        )
        stack.enter_context(comparison)
        saving = None if folder is None else Saving(folder, comparison.measured)
        after_run = None if saving is None else saving.keep
        interrupted = carry_out(comparison, sequential=sequential, after_run=after_run)
        # Before the servers are stopped, which takes a moment: a second Ctrl-C then has nothing left to destroy.
        passed = _print(comparison.measured, out, output_format, bounds, quiet=quiet)
        if samples is not None and samples_file is not None:
            _write_rows(comparison.measured, samples_file)
            samples_file.flush()
            _write_evidence(comparison.measured, samples)
        if folder is not None and saving is not None:
            saving.finish(bounds, complete=not interrupted)
            if (line := folder.note(quiet=quiet)) is not None:
                tell(f"rig: {line}")
    if folder is not None:
        page.write(folder, "rig")
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    measured = [run for entry in comparison.measured for run in entry.runs]
    if not any(run.summary.ok for run in measured):
        raise typer.Exit(EXIT_NOTHING)
    missed = not all(verdict.met for run in measured for verdict in run.verdicts(plan.objectives))
    raise typer.Exit(EXIT_MISSED if missed or not passed else EXIT_OK)


def _instances(specs: Sequence[str], commands: Sequence[str], ready: str | None, config: Path | None) -> list[Instance]:
    """What is to be measured: the profiles named, then the commands."""
    from servers.catalog import parse_spec
    from servers.own.command import command_profiles
    from servers.own.file import catalog

    of_commands = {profile.name: profile for profile in command_profiles(commands, ready)}
    if not specs and not of_commands:
        raise UsageError("Missing argument 'PROFILE': name one or more, or give a server's own --cmd 'COMMAND'")
    profiles = catalog(config)
    return [*(parse_spec(spec, profiles) for spec in specs), *(parse_spec(name, of_commands) for name in of_commands)]


def _print(
    measured: Sequence[Measured],
    out: TextIO,
    output_format: opt.OutputFormat,
    bounds: Sequence[FailIf],
    *,
    quiet: bool,
) -> bool:
    """Prints all that was measured; returns whether every bound was passed."""
    from loadgen.redaction import Redaction
    from rig.diff.against import against_first
    from rig.diff.fail_if import judge_all
    from rig.render import against, blocks, comparison_data, percentile_blocks, sentences, table

    compared = against_first(measured)
    judged = judge_all(compared, bounds)
    # What is shown on a terminal is the user's own; a file goes on to others.
    hide = Redaction(measured[0].plan.redact if measured and out is not sys.stdout else ()).text
    match output_format:
        case opt.OutputFormat.TEXT:
            _write_lines(blocks(measured, quiet=quiet), out, hide)
            _write_lines(table(measured), out, hide)
            _write_lines(against(measured, compared), out, hide)
            if not quiet:
                _write_lines(sentences(measured), out, hide)
            _write_lines((each.line for each in judged), out, hide)
        case opt.OutputFormat.JSON:
            json.dump(comparison_data(measured, bounds), out, indent=2)
            out.write("\n")
        case opt.OutputFormat.CSV:
            _write_rows(measured, out)
        case opt.OutputFormat.HDR:
            out.writelines(map(hide, percentile_blocks(measured)))
    out.flush()
    if output_format in (opt.OutputFormat.CSV, opt.OutputFormat.HDR):  # which have no place for it
        for each in judged:
            tell(each.line)
    return all(each.passed for each in judged)


def _write_lines(lines: Iterable[str], out: TextIO, hide: Callable[[str], str]) -> None:
    for line in lines:
        print(hide(line), file=out)


def _write_rows(measured: Sequence[Measured], out: TextIO) -> None:
    from rig.render import rows, rows_header

    for entry in measured:
        for run in entry.runs:
            if run.tally is not None:
                tell(
                    f"rig: {entry.instance.spec} run {run.number} was too long to keep: the last"
                    f" {len(run.samples):,} of its {run.summary.requests:,} rows are written; loadgen --samples has all"
                )
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows_header(measured))
    writer.writerows(rows(measured))


def _write_evidence(measured: Sequence[Measured], samples: Path) -> None:
    from loadgen.evidence_file import evidence_data, evidence_path
    from rig.render import names_in_files

    named = zip(names_in_files(measured), measured, strict=True)
    runs = [((name, run.number), run.evidence) for name, entry in named for run in entry.runs]
    evidence_path(samples).write_text(json.dumps(evidence_data(runs)) + "\n", encoding="utf-8")
