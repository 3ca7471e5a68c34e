"""The command `loadgen`: fires requests at a URL and prints what came of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen import options as opt
from loadgen.command import HELP_OPTIONS, create_file, run_app, tell
from loadgen.entry import all_is_loaded
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_INTERRUPTED, EXIT_MISSED, EXIT_NOTHING, EXIT_OK
from loadgen.load_options import LoadOptions
from loadgen.mix_options import read_mix
from loadgen.plan import DEFAULT_URL, Plan
from loadgen.report_cli import OpenReport, Report, ReportOptions

if TYPE_CHECKING:
    from loadgen.observer import Observer
    from loadgen.output import Sink

_EXAMPLES = """
\b
Examples:
  loadgen --n 400 --runs 5                             at the default URL
  loadgen http://127.0.0.1:8080/block --n 20 --over 1500ms
  loadgen http://127.0.0.1:8080/json -n 100000 -c 64   64 at a time
  loadgen URL -c 64 -z 30s                             64 users, for a time
  loadgen URL --rate 2000 -z 30s                       a rate, whatever the answers do
  loadgen URL --rate 50000 -z 30s --workers auto       on all cores
  loadgen URL URL --weights 3,1 -n 4000 -c 64          several, by turns
  loadgen 'http://127.0.0.1:8080/thread?id={seq}'      a number, or {uuid}, in each
  loadgen URL --n 400 --output-format json | jq '.runs[].p50_ms'
  loadgen URL --n 400 --samples samples.csv            a row for each request
  loadgen URL --rate 500 -z 30s --slo 'p99<200ms'      exit code 1 where that is missed

\b
Also, each with its own --help:
  loadgen explain SAMPLES.csv    the findings again, from a saved run
  loadgen limit URL              finds the concurrency limit with few requests
  loadgen sweep URL -c 50,100    finds where throughput flattens

\b
Exit codes: 0 measured; 1 an objective (--slo) was missed;
2 usage; 3 every request failed; 130 interrupted, and what was measured is printed.
"""

_COMMANDS = {"explain": "loadgen.explain_cli", "limit": "loadgen.limit_cli", "sweep": "loadgen.sweep_cli"}

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=HELP_OPTIONS
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"loadgen {version('loadrig')}")
        raise typer.Exit


@app.command(epilog=_EXAMPLES)
def fire(
    url: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL", help=f"http:// or https://. Default: {DEFAULT_URL}.", show_default=False),
    ] = None,
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
    scheduler: opt.Scheduler = None,
    runs: opt.Runs = 1,
    warmup: opt.Warmup = 0,
    pause: opt.Pause = "0",
    preconnect: opt.Preconnect = False,
    disable_keepalive: opt.DisableKeepalive = False,
    engine: opt.Engine = opt.EngineName.WIRE,
    http2: opt.Http2 = False,
    allow_remote: opt.AllowRemote = False,
    server_timing: opt.ServerTiming = False,
    method: opt.Method = None,
    header: opt.Headers = None,
    body: opt.Body = None,
    body_file: opt.BodyFile = None,
    insecure: opt.Insecure = False,
    cacert: opt.CaCert = None,
    weights: opt.Weights = None,
    targets: opt.Targets = None,
    over: opt.Over = "1500ms",
    timeout: opt.Timeout = "60s",
    connect_timeout: opt.ConnectTimeout = None,
    output_format: opt.Format = opt.OutputFormat.TEXT,
    output: opt.Output = None,
    samples: opt.Samples = None,
    resources: opt.Resources = True,
    metrics_port: opt.MetricsPort = None,
    otlp: opt.Otlp = None,
    quiet: opt.Quiet = False,
    save: Annotated[bool, typer.Option("--save", help="Keep all in a new folder: rig show prints it again.")] = False,
    runs_dir: opt.RunsDir = None,
    name: opt.RunName = None,
    redact: opt.Redact = None,
    report: Report = None,
    open_report: OpenReport = False,
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False,
) -> None:
    """Fires N requests at the same moment, prints one line a run, and says why."""
    request = opt.RequestOptions(method, tuple(header or ()), body, body_file, insecure, cacert)
    mix = read_mix(url or (), weights, targets, request)
    plan = LoadOptions(
        n, concurrency, runs, warmup, pause, preconnect, disable_keepalive, engine, http2, allow_remote, over, timeout,
        connect_timeout, duration, think, rate, arrivals, seed, max_in_flight, tuple(stage or ()),
        server_timing, tuple(slo or ()), workers, scheduler, tuple(redact or ()),
    ).plan(mix[0].target, mix if len(mix) > 1 else ())  # fmt: skip
    if not save and (runs_dir is not None or name is not None):
        raise UsageError("--runs-dir and --name are about a folder to keep the runs in: add --save")
    page = ReportOptions(report, open_report)
    page.check(kept=save, otherwise="add --save")
    with ExitStack() as stack:
        metrics, metrics_sinks = _open_metrics(stack, metrics_port, otlp)
        sinks = [*_open_sinks(stack, plan, output_format, output, samples, quiet=quiet), *metrics_sinks]
        folder = None
        if save:
            from loadgen.saving import FolderSink, SaveOptions
            from loadgen.store import extra_columns

            saving = SaveOptions(runs_dir, name)
            words = [plan.target.host, plan.target.path]
            opened = saving.open("loadgen", "loadgen", words, redact=plan.redact, extra=extra_columns(plan))
            folder = stack.enter_context(opened)
            sinks.append(FolderSink(plan, folder))
        code = _carry_out(plan, sinks, metrics, note=not quiet, resources=resources)
        if folder is not None and (line := folder.note(quiet=quiet)):
            tell(f"loadgen: {line}")
    if folder is not None:
        page.write(folder, "loadgen")
    raise typer.Exit(code)


def _open_sinks(
    stack: ExitStack,
    plan: Plan,
    output_format: opt.OutputFormat,
    output: Path | None,
    samples: Path | None,
    *,
    quiet: bool,
) -> list[Sink]:
    """Where results go. Files are opened before anything is fired: a name that cannot be written is found out now."""
    from loadgen.output import CsvSink, EvidenceSink, HdrSink, JsonSink, TextSink, samples_sink
    from loadgen.store import extra_columns

    # A name with an ending that is not accepted may be that of another file: it is refused before it is emptied.
    if samples is not None and output is not None and samples.resolve() == output.resolve():
        raise UsageError(f"--output and --samples are both {output}: name two files")
    make_samples_sink = None if samples is None else samples_sink(samples, plan)
    file = sys.stdout if output is None else stack.enter_context(create_file("--output", output))
    sinks: list[Sink] = []
    match output_format:
        case opt.OutputFormat.TEXT:
            sinks.append(TextSink(plan, file, quiet=quiet))
        case opt.OutputFormat.JSON:
            sinks.append(JsonSink(plan, file))
        case opt.OutputFormat.CSV:
            sinks.append(CsvSink(file, extra_columns(plan)))
        case opt.OutputFormat.HDR:
            sinks.append(HdrSink(plan, file))
    if samples is not None and make_samples_sink is not None:
        sinks.append(EvidenceSink(samples))
        sinks.append(make_samples_sink(stack.enter_context(create_file("--samples", samples))))
    return sinks


def _open_metrics(stack: ExitStack, port: int | None, otlp: str | None) -> tuple[list[Observer], list[Sink]]:
    """Serves and sends what is measured, where that was asked for: who is to look on, and to be given the runs."""
    if port is None and otlp is None:
        return [], []
    from loadgen.metrics.collector import RunMetrics

    metrics = RunMetrics()
    sinks: list[Sink] = [metrics]
    if port is not None:
        from loadgen.metrics.scrape import metrics_served

        served = stack.enter_context(metrics_served(metrics, port))
        tell(f"loadgen: metrics at http://127.0.0.1:{served}/metrics")
    if otlp is not None:
        from loadgen.metrics.otlp import OtlpSink

        sinks.append(OtlpSink(metrics, otlp, tell))
    return [metrics], sinks


def _carry_out(plan: Plan, sinks: Sequence[Sink], observers: Sequence[Observer], *, note: bool, resources: bool) -> int:
    """Carries the plan out and returns the exit code."""
    from loadgen.observer import Observers
    from loadgen.output import take_rows
    from loadgen.render.text import failure_hint, target_words
    from loadgen.resources.watch import Sampler
    from loadgen.run import WARMUP
    from loadgen.runner import Session

    any_ok = missed = interrupted = False
    noted = "" if note else None
    on_terminal = sys.stderr.isatty()
    if on_terminal:
        from loadgen.progress import ProgressLine
    all_is_loaded()
    with ExitStack() as stack:
        line = None
        if on_terminal:
            line = stack.enter_context(ProgressLine(plan.warmup + plan.runs, duration_s=plan.workload.duration_s))
            observers = [*observers, line]
        observer = Observers(observers) if observers else None
        sampler = stack.enter_context(Sampler()) if resources else None
        session = stack.enter_context(Session(plan, observer=observer, take_rows=take_rows(sinks), sampler=sampler))
        try:
            for run in session.runs():
                if line is not None:
                    line.hide()
                if noted is not None and run.address != noted:
                    noted = run.address
                    tell(f"loadgen: {target_words(plan)} at {noted}")
                if run.number != WARMUP:
                    for sink in sinks:
                        sink.add(run)
                    any_ok = any_ok or run.summary.ok > 0
                    missed = missed or not all(verdict.met for verdict in run.verdicts(plan.objectives))
                    if note and (hint := failure_hint(run)) is not None:
                        tell(f"loadgen: {hint}")
                interrupted = run.interrupted
        except KeyboardInterrupt:  # between two runs
            interrupted = True
    for sink in sinks:
        sink.finish()
    if interrupted:
        return EXIT_INTERRUPTED
    if not any_ok:
        return EXIT_NOTHING
    return EXIT_MISSED if missed else EXIT_OK


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, or the one that the first argument names, and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _COMMANDS:
        from importlib import import_module

        return run_app(import_module(_COMMANDS[given[0]]).app, f"loadgen {given[0]}", given[1:])
    return run_app(app, "loadgen", given)
