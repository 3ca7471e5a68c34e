"""The command `loadgen sweep`: steps of growing load, and where the server flattens."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from loadgen import options as opt
from loadgen.command import HELP_OPTIONS, create_file, tell
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_INTERRUPTED, EXIT_MISSED, EXIT_NOTHING, EXIT_OK
from loadgen.load_options import LoadOptions
from loadgen.objective import parse_objective
from loadgen.plan import DEFAULT_URL, Plan

if TYPE_CHECKING:
    from loadgen.sweep.carry import Search, Sweep

_EXAMPLES = """
\b
Examples:
  loadgen sweep URL -c 5,10,20,50,100 -z 10s       users; where throughput flattens
  loadgen sweep URL --rate 100..5000 --steps 10    rates; the first not kept up with
  loadgen sweep URL --find 'p99<200ms'             the highest rate that keeps it
  loadgen sweep URL --find 'p99<200ms' -c 1..500   the most users that keep it

\b
Exit codes: 0 measured; 1 no level tried keeps the objective (--find);
2 usage; 3 every request failed; 130 interrupted, and what was measured
is printed.
"""
_FIND_RATES = "10..100000"

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=HELP_OPTIONS
)

Users = Annotated[
    str | None, typer.Option("-c", "--concurrency", metavar="C,C,...", help="Users of each step; or LOW..HIGH.")
]
Rates = Annotated[str | None, typer.Option("--rate", metavar="R,R,...", help="Rate of each step; or LOW..HIGH.")]
Steps = Annotated[
    int | None, typer.Option("--steps", metavar="K", help="Of a range: each the same factor up. Default: 10.")
]
Find = Annotated[
    list[str] | None,
    typer.Option(
        "--find", metavar="OBJECTIVE", help="Search the highest level that keeps it. Default range: --rate 10..100000."
    ),
]
StepTime = Annotated[str, typer.Option("-z", "--duration", metavar="TIME", help="Of each step.")]
AllSteps = Annotated[bool, typer.Option("--all", help="Go on where a step tells nothing of the server.")]


@app.command(epilog=_EXAMPLES)
def sweep(
    url: Annotated[str, typer.Argument(metavar="[URL]", help="http:// or https://.")] = DEFAULT_URL,
    concurrency: Users = None,
    rate: Rates = None,
    steps: Steps = None,
    find: Find = None,
    duration: StepTime = "10s",
    all_steps: AllSteps = False,
    think: opt.Think = "0",
    arrivals: opt.Arrivals = opt.ArrivalsName.CONSTANT,
    seed: opt.Seed = 0,
    max_in_flight: opt.MaxInFlight = None,
    warmup: opt.Warmup = 0,
    pause: opt.Pause = "1s",
    disable_keepalive: opt.DisableKeepalive = False,
    engine: opt.Engine = opt.EngineName.WIRE,
    http2: opt.Http2 = False,
    allow_remote: opt.AllowRemote = False,
    method: opt.Method = None,
    header: opt.Headers = None,
    body: opt.Body = None,
    body_file: opt.BodyFile = None,
    insecure: opt.Insecure = False,
    cacert: opt.CaCert = None,
    over: opt.Over = "1500ms",
    timeout: opt.Timeout = "10s",
    connect_timeout: opt.ConnectTimeout = None,
    output_format: opt.Format = opt.OutputFormat.TEXT,
    output: opt.Output = None,
    quiet: opt.Quiet = False,
) -> None:
    """Loads a server in steps, a row each, and says where it flattens.

    Steps of users: where throughput stops growing with them. Steps of a rate: the first at which completions fall
    behind arrivals. With --find: the highest level that keeps an objective.
    """
    if output_format is opt.OutputFormat.HDR:
        raise UsageError("--output-format takes text, json or csv here")
    from loadgen.sweep.levels import parse_levels, parse_range

    if rate is not None and concurrency is not None:
        raise UsageError("--rate and -c are not accepted together: the steps are of a rate, or of users")
    if rate is None and concurrency is None:
        if find is None:
            raise UsageError("the steps are not said: add -c 50,100,200 or --rate 100..5000, or --find 'p99<200ms'")
        rate = _FIND_RATES
    if find is not None and steps is not None:
        raise UsageError("--steps and --find are not accepted together: a search chooses its own steps")
    option, text = ("-c", concurrency) if concurrency is not None else ("--rate", rate or "")
    levels = parse_levels(option, text, steps=steps) if find is None else list(parse_range(option, text))
    target = opt.RequestOptions(method, tuple(header or ()), body, body_file, insecure, cacert).target(url)

    def plan(level: float) -> Plan:
        return LoadOptions(
            concurrency=int(level) if option == "-c" else None, rate=f"{level:f}" if option == "--rate" else None,
            warmup=warmup, pause=pause, disable_keepalive=disable_keepalive, engine=engine, http2=http2,
            allow_remote=allow_remote, over=over, timeout=timeout, connect_timeout=connect_timeout,
            duration=duration, think=think, arrivals=arrivals, seed=seed, max_in_flight=max_in_flight,
        ).plan(target)  # fmt: skip

    highest = plan(levels[-1])
    objectives = [parse_objective(text) for text in find or ()]

    from loadgen.entry import all_is_loaded
    from loadgen.preflight import check_capacity
    from loadgen.sweep.carry import Search, Sweep
    from loadgen.sweep.search import Bracket

    check_capacity(highest)
    all_is_loaded()
    work: Sweep | Search = Sweep(plan, levels, all_steps=all_steps)
    if objectives:
        work = Search(plan, objectives, Bracket(levels[0], levels[1], whole=option == "-c"))
    with ExitStack() as stack:
        out = sys.stdout if output is None else stack.enter_context(create_file("--output", output))
        _carry_out(work, highest, out, output_format, quiet=quiet)
    if work.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if not any(step.run.summary.ok for step in work.steps):
        raise typer.Exit(EXIT_NOTHING)
    raise typer.Exit(EXIT_MISSED if objectives and work.result().value is None else EXIT_OK)


def _carry_out(work: Sweep | Search, plan: Plan, out: TextIO, output_format: opt.OutputFormat, *, quiet: bool) -> None:
    """Carries the steps out and prints them, in the form asked for, as they end."""
    from loadgen.sweep import render

    as_text = output_format is opt.OutputFormat.TEXT
    write: Callable[[str], object] = lambda line: print(line, file=out, flush=True)  # noqa: E731
    rows = csv.writer(out, lineterminator="\n")
    if as_text:
        write(render.heading(plan))
    elif output_format is opt.OutputFormat.CSV:
        rows.writerow(render.CSV_HEADER)
    for step in work.carry_out():
        if as_text:
            write(render.row(step, quiet=quiet))
        elif output_format is opt.OutputFormat.CSV:
            rows.writerow(render.csv_row(step))
            out.flush()
    result = work.result()
    if output_format is opt.OutputFormat.JSON:
        json.dump(render.document(plan, work.steps, result, work.stopped), out, indent=2)
        write("")
        return
    if work.stopped is not None and not quiet:
        tell(f"loadgen: {work.stopped}")
    if as_text:
        write(result.sentence)
