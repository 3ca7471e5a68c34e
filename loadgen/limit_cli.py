"""The command `loadgen limit`: finds a server's concurrency limit with few requests."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from loadgen import options as opt
from loadgen.command import HELP_OPTIONS
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_OK
from loadgen.load_options import LoadOptions
from loadgen.plan import DEFAULT_URL, Plan

_EXAMPLES = """
\b
Examples:
  loadgen limit http://127.0.0.1:8080/sleep
  loadgen limit https://staging.example/api --most 200
"""

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=HELP_OPTIONS
)


@app.command(epilog=_EXAMPLES)
def limit(
    url: Annotated[str, typer.Argument(metavar="[URL]", help="http:// or https://.")] = DEFAULT_URL,
    most: Annotated[int, typer.Option("--most", metavar="N", min=2, help="The largest burst to try.")] = 1024,
    pause: opt.Pause = "0",
    allow_remote: opt.AllowRemote = False,
    method: opt.Method = None,
    header: opt.Headers = None,
    body: opt.Body = None,
    body_file: opt.BodyFile = None,
    insecure: opt.Insecure = False,
    cacert: opt.CaCert = None,
    timeout: opt.Timeout = "60s",
    output_format: opt.Format = opt.OutputFormat.TEXT,
    quiet: opt.Quiet = False,
) -> None:
    """Finds how many requests a server works on at once.

    Bursts grow until some requests have to wait, then the limit that these show is tried: a burst of so many, and one
    of a few more. Says the limit, the service time, how sure that is, and how many requests it took.
    """
    if output_format not in (opt.OutputFormat.TEXT, opt.OutputFormat.JSON):
        raise UsageError("--output-format takes text or json here")
    request = opt.RequestOptions(method, tuple(header or ()), body, body_file, insecure, cacert)
    target = request.target(url)

    def plan(n: int) -> Plan:
        load = LoadOptions(n=n, pause=pause, timeout=timeout, allow_remote=allow_remote)
        return load.plan(target)

    plan(most)

    from loadgen.entry import all_is_loaded
    from loadgen.limit import Search
    from loadgen.preflight import check_capacity

    check_capacity(plan(most))
    all_is_loaded()
    as_text = output_format is opt.OutputFormat.TEXT
    search = Search(plan, most)
    for burst in search.bursts():
        if as_text and not quiet:
            print(burst.line, flush=True)
    verdict = search.verdict()
    if as_text:
        print(verdict.line)
        print(f"why: {verdict.sentence}")
    else:
        print(json.dumps(verdict.data(), indent=2))
    if search.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    raise typer.Exit(EXIT_OK if verdict.measured else EXIT_NOTHING)
