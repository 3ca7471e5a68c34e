"""The command `rig`: lists the server profiles, serves one, compares several, and shows again what it kept of that."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from loadgen.command import HELP_OPTIONS, run_app
from loadgen.entry import all_is_loaded
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_NOTHING, EXIT_USAGE
from rig.build_cli import build, build_first
from rig.compare_cli import COMPARE_EXAMPLES, compare
from rig.diff_cli import DIFF_EXAMPLES, diff
from rig.doctor_cli import DOCTOR_EXAMPLES, doctor
from rig.options import Config
from rig.report_cli import REPORT_EXAMPLES, report
from rig.run_cli import RUN_EXAMPLES, run, scenarios
from rig.runs_cli import RERUN_EXAMPLES, rerun, runs, show
from rig.tasks.errors import TasksError
from rig.tasks_cli import COST_EXAMPLES, TASKS_EXAMPLES, tasks, thread_cost
from scenarios.errors import ScenarioError
from servers.errors import ProgramError, RuntimeMissing, ServersError, StartError

_EXAMPLES = """
\b
Examples:
  rig profiles
  rig serve threads:threads=400 --port 8080
  rig compare threads threads:threads=400 async --n 400 --runs 5
  rig compare async async-threadpool --path '/block?ms=200' --n 10
  rig run sleep-400-python
"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"rig {version('loadrig')}")
        raise typer.Exit


@app.callback(epilog=_EXAMPLES)
def rig(version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False) -> None:
    """Servers whose limits are known, and why they answer as they do."""


@app.command()
def profiles(config: Config = None) -> None:
    """Lists profiles, knobs, and what limits each."""
    from rig.render import profile_list
    from servers.own.file import catalog

    for line in profile_list(catalog(config).values()):
        print(line)


@app.command()
def serve(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="As in threads:threads=400. See rig profiles.")],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any that is free.")] = 8080,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    config: Config = None,
) -> None:
    """Serves one profile until Ctrl-C."""
    if not host.strip():
        raise UsageError("--host '' is not accepted: give an address of this machine, as in 127.0.0.1")
    from rig.serving import serve_until_stopped
    from servers.catalog import parse_spec
    from servers.own.file import catalog

    all_is_loaded()
    instance = parse_spec(profile, catalog(config))
    build_first([instance])
    serve_until_stopped(instance, host, port, lambda line: print(line, flush=True))


app.command(epilog=COMPARE_EXAMPLES)(compare)
app.command()(scenarios)
app.command(epilog=RUN_EXAMPLES)(run)
app.command(epilog=DOCTOR_EXAMPLES)(doctor)
app.command()(build)
app.command(epilog=TASKS_EXAMPLES)(tasks)
app.command("thread-cost", epilog=COST_EXAMPLES)(thread_cost)
app.command()(runs)
app.command()(show)
app.command(epilog=RERUN_EXAMPLES, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(rerun)
app.command(epilog=DIFF_EXAMPLES)(diff)
app.command(epilog=REPORT_EXAMPLES)(report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code; without arguments it shows the help."""
    given = sys.argv[1:] if arguments is None else arguments
    return run_app(
        app,
        "rig",
        given or ["--help"],
        dict.fromkeys((StartError, RuntimeMissing, ProgramError, TasksError), EXIT_NOTHING)
        | dict.fromkeys((ServersError, ScenarioError), EXIT_USAGE),
    )
