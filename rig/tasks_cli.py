"""The commands `rig tasks`, executors without HTTP, and `rig thread-cost`."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from loadgen import options as opt
from loadgen.command import create_file, tell
from loadgen.entry import all_is_loaded
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_INTERRUPTED, EXIT_MISSED, EXIT_OK

if TYPE_CHECKING:
    from rig.tasks.cost import Cost
    from rig.tasks.measure import Measurement, TasksPlan

TASKS_EXAMPLES = """
\b
Examples:
  rig tasks --work sleep:100ms --tasks 1000 --on pool:100,pool:24,thread-each,asyncio,greenlets
  rig tasks --work cpu:1000000 --tasks 16 --on pool:2,processes:2
  rig tasks --work sleep:5s --tasks 10000 --on asyncio,java:virtual --warmup 0 --runs 1

\b
Executors: pool:K, thread-each, asyncio, greenlets, processes:K,
interpreters:K (Python 3.14), java:pool:K, java:virtual, java:thread-each.

\b
Exit codes: 0 measured; 1 the results differ; 2 usage; 3 an executor is not to
be had here; 130 interrupted, and what was measured is printed.
"""

COST_EXAMPLES = """
\b
Examples:
  rig thread-cost
  rig thread-cost --counts 1000 --of threads,asyncio --rounds 9
"""

_TOLD_FROM_S = 10.0
"""From such an estimate on it is told."""

SamplesFile = Annotated[
    Path | None,
    typer.Option("--samples", metavar="FILE.csv", help="Write each task's row too."),
]


def tasks(
    work: Annotated[str, typer.Option("--work", metavar="WORK", help="sleep:TIME, cpu:STEPS or spin:TIME.")],
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", help="Tasks a run.")] = 1000,
    on: Annotated[str, typer.Option("--on", metavar="LIST", help="The executors.")] = "pool:100,thread-each,asyncio",
    warmup: opt.Warmup = 3,
    runs: opt.Runs = 7,
    output_format: opt.Format = opt.OutputFormat.TEXT,
    output: opt.Output = None,
    samples: SamplesFile = None,
    quiet: opt.Quiet = False,
) -> None:
    """Measures executors without HTTP.

    Carries the same tasks out on each, the runs in turns. Making the executor, submitting, waiting and closing are all
    inside the time; the results are summed and must be the same on each.
    """
    if output_format is opt.OutputFormat.HDR:
        raise UsageError("--output-format takes text, json or csv here")
    if samples is not None and samples.suffix != ".csv":
        raise UsageError(f"--samples {samples}: the name must end in .csv")
    if samples is not None and output is not None and samples.resolve() == output.resolve():
        raise UsageError(f"--output and --samples are both {output}: name two files")
    from rig.tasks.estimate import spoken_estimate, tasks_seconds
    from rig.tasks.kinds import parse_kinds
    from rig.tasks.measure import Measurement, TasksPlan, disagreement
    from rig.tasks.work import Work

    plan = TasksPlan(Work.parse(work), tasks, parse_kinds(on), warmup, runs)
    measurement = Measurement(plan)  # before a file is opened: it may not fit
    all_is_loaded()
    seconds = tasks_seconds(plan)
    if seconds > _TOLD_FROM_S:
        tell(f"rig: takes {spoken_estimate(seconds)}")
    interrupted = False
    with ExitStack() as stack:
        out = sys.stdout if output is None else stack.enter_context(create_file("--output", output))
        samples_file = None if samples is None else stack.enter_context(create_file("--samples", samples))
        stack.enter_context(measurement)
        try:
            with _progress() as progress:
                measurement.carry_out(progress)
        except KeyboardInterrupt:
            interrupted = True
        # Before the processes are ended, which takes a moment: a second Ctrl-C then has nothing left to destroy.
        _print(plan, measurement, out, output_format, quiet=quiet)
        if samples_file is not None:
            _write_rows(measurement, samples_file)
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    wrong = disagreement(measurement.measured)
    if wrong is not None:
        tell(f"rig: {wrong}")
    raise typer.Exit(EXIT_OK if wrong is None else EXIT_MISSED)


def thread_cost(
    counts: Annotated[str, typer.Option("--counts", metavar="LIST", help="So many at once.")] = "10,100,1000,10000",
    of: Annotated[str, typer.Option("--of", metavar="LIST", help="What is made.")] = "threads,asyncio,greenlets",
    rounds: Annotated[int, typer.Option("--rounds", metavar="R", help="Measurements of each; medians count.")] = 5,
    output_format: opt.Format = opt.OutputFormat.TEXT,
    output: opt.Output = None,
    quiet: opt.Quiet = False,
) -> None:
    """Measures what a thread costs.

    Time to make one, memory, address space, against asyncio tasks and greenlets; each measurement in a fresh process.
    """
    if output_format not in (opt.OutputFormat.TEXT, opt.OutputFormat.JSON):
        raise UsageError(f"--output-format {output_format} is not accepted: thread-cost has no rows; text or json")
    if not all(re.fullmatch(" *[0-9]{1,20} *", word) for word in counts.split(",")):
        raise UsageError(f"--counts {counts!r} is not accepted: it takes whole numbers, as in 10,100,1000")
    from rig.tasks.cost import check_cost_plan, costs

    numbers, kinds = [int(word) for word in counts.split(",")], [word.strip() for word in of.split(",")]
    check_cost_plan(numbers, kinds, rounds)
    all_is_loaded()
    measured: list[Cost] = []
    interrupted = False
    with ExitStack() as stack:
        out = sys.stdout if output is None else stack.enter_context(create_file("--output", output))
        try:
            with _progress() as progress:
                measured.extend(costs(numbers, kinds, rounds, progress))
        except KeyboardInterrupt:
            interrupted = True
        _print_costs(measured, out, output_format, quiet=quiet)
    raise typer.Exit(EXIT_INTERRUPTED if interrupted else EXIT_OK)


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """Shows, on a terminal's stderr, what is being carried out."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


def _print(
    plan: TasksPlan, measurement: Measurement, out: TextIO, output_format: opt.OutputFormat, *, quiet: bool
) -> None:
    from rig.tasks.render import tasks_data, tasks_lines

    match output_format:
        case opt.OutputFormat.TEXT:
            _write_lines(tasks_lines(measurement.measured, quiet=quiet), out)
        case opt.OutputFormat.JSON:
            json.dump(tasks_data(plan, measurement.measured), out, indent=2)
            out.write("\n")
        case opt.OutputFormat.CSV:
            _write_rows(measurement, out)
    out.flush()


def _print_costs(measured: list[Cost], out: TextIO, output_format: opt.OutputFormat, *, quiet: bool) -> None:
    from rig.tasks.cost import cost_data, cost_lines

    if output_format is opt.OutputFormat.JSON:
        json.dump(cost_data(measured), out, indent=2)
        out.write("\n")
    else:
        _write_lines(cost_lines(measured, quiet=quiet), out)
    out.flush()


def _write_lines(lines: Iterable[str], out: TextIO) -> None:
    for line in lines:
        print(line, file=out)


def _write_rows(measurement: Measurement, out: TextIO) -> None:
    from rig.tasks.render import ROWS_HEADER, rows

    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(ROWS_HEADER)
    writer.writerows(rows(measurement.measured))
    out.flush()
