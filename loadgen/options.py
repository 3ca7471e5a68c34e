"""The options that the commands `loadgen` and `rig compare` share; `load_options` makes a plan of them.

Imports nothing heavy: a `--help` must come at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from loadgen.errors import UsageError
from loadgen.plan import Target, parse_header


class OutputFormat(StrEnum):
    """How results are written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    HDR = "hdr"


class EngineName(StrEnum):
    """Which client carries the requests out."""

    WIRE = "wire"
    AIOHTTP = "aiohttp"
    HTTPX = "httpx"


class ArrivalsName(StrEnum):
    """How the arrivals of an open workload are spread."""

    CONSTANT = "constant"
    POISSON = "poisson"


Requests = Annotated[
    int | None, typer.Option("-n", "--n", metavar="N", help="Requests a run. Default: 400, where no time is given.")
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "-c", "--concurrency", metavar="C",
        help="Users: so many at a time, each next one when one ends. Default: N, all at the same moment."
    ),
]  # fmt: skip
Duration = Annotated[
    str | None, typer.Option("-z", "--duration", metavar="TIME", help="For so long, in place of a number of requests.")
]
Think = Annotated[str, typer.Option("--think", metavar="TIME", help="Between a user's answer and the next request.")]
Rate = Annotated[
    str | None,
    typer.Option("--rate", metavar="R", help="Requests a second, whatever the answers do: 2000, 2000/s, 50/1m."),
]
Arrivals = Annotated[ArrivalsName, typer.Option("--arrivals", help="Of --rate: evenly, or at random moments.")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help="Of what is random: the same again.")]
MaxInFlight = Annotated[
    int | None,
    typer.Option("--max-in-flight", metavar="M", help="Of --rate: beyond it a request fails. Default: what fits here."),
]
Stages = Annotated[
    list[str] | None,
    typer.Option(
        "--stage", metavar="STAGE", help="Repeatable: 30s:100/s holds a rate, 60s:100/s..2000/s ramps; 30s:64 users."
    ),
]
Workers = Annotated[str, typer.Option("--workers", metavar="W", help="Processes that share the load; auto: one a CPU.")]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="tcp://HOST:PORT", help="Of a Dask cluster, whose workers share the load."),
]
Runs = Annotated[int, typer.Option("--runs", metavar="R", help="Runs, after each other.")]
Warmup = Annotated[int, typer.Option("--warmup", metavar="K", help="Runs carried out first and not counted.")]
Pause = Annotated[str, typer.Option("--pause", metavar="TIME", help="Between runs.")]
Preconnect = Annotated[bool, typer.Option("--preconnect", help="Connect all first, then release the requests.")]
DisableKeepalive = Annotated[bool, typer.Option("--disable-keepalive", help="A new connection for each request.")]
Engine = Annotated[EngineName, typer.Option("--engine", help="The client that carries the requests out.")]
Http2 = Annotated[bool, typer.Option("--http2", help="HTTP/2; needs --engine httpx.")]
AllowRemote = Annotated[
    bool,
    typer.Option("--allow-remote", help="Fire at a public address; its owner has agreed."),
]

ServerTiming = Annotated[
    bool, typer.Option("--server-timing", help="Keep and show the server's own figures (Server-Timing).")
]

Method = Annotated[
    str | None,
    typer.Option("-m", "--method", metavar="METHOD", help="Default: GET, with a body POST."),
]
Headers = Annotated[
    list[str] | None,
    typer.Option("-H", "--header", metavar="'NAME: VALUE'", help="Repeatable."),
]
Body = Annotated[str | None, typer.Option("--body", metavar="TEXT", help="The body.")]
BodyFile = Annotated[Path | None, typer.Option("--body-file", metavar="FILE", help="The body, from a file.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Accept any TLS certificate.")]
CaCert = Annotated[
    Path | None,
    typer.Option("--cacert", metavar="FILE", help="Trust these authorities (PEM)."),
]

Weights = Annotated[
    str | None,
    typer.Option(
        "--weights", metavar="W,W", help="Of several URLs, by turns: as often as its number. Default: 1 each."
    ),
]
Targets = Annotated[
    Path | None,
    typer.Option(
        "--targets", metavar="FILE", help="Requests by turns, one a line: GET /path, or JSON (docs/targets.md)."
    ),
]

Over = Annotated[str, typer.Option("--over", metavar="TIME", help="A request is late above this.")]
Timeout = Annotated[str, typer.Option("--timeout", metavar="TIME", help="Bounds each request, from due.")]
ConnectTimeout = Annotated[
    str | None,
    typer.Option("--connect-timeout", metavar="TIME", help="Bounds the connecting alone."),
]

Format = Annotated[
    OutputFormat,
    typer.Option("--output-format", help="text, one JSON object, one CSV row a request, or .hgrm percentiles."),
]
Samples = Annotated[
    Path | None,
    typer.Option("--samples", metavar="FILE", help="Write each request's row too: .csv, .json, .parquet."),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write there, not to stdout."),
]
Resources = Annotated[
    bool,
    typer.Option("--resources/--no-resources", help="Look at the server's and the generator's CPU, memory, threads."),
]
MetricsPort = Annotated[
    int | None,
    typer.Option("--metrics-port", metavar="PORT", help="Serve /metrics for Prometheus meanwhile; 0: any free port."),
]
Otlp = Annotated[
    str | None,
    typer.Option("--otlp", metavar="URL", help="Send the same after each run to an OTLP/HTTP collector."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Leave out the why: lines and the notes.")]
Objectives = Annotated[
    list[str] | None,
    typer.Option(
        "--slo", metavar="OBJECTIVE", help="Repeatable: p99<200ms, failed<1%, throughput>1000. Missed: exit code 1."
    ),
]
Redact = Annotated[
    list[str] | None,
    typer.Option("--redact", metavar="NAME", help="Repeatable: a header, parameter or field to keep out of files."),
]
RunsDir = Annotated[
    Path | None, typer.Option("--runs-dir", metavar="DIR", help="Where run folders are. Default: runs.")
]
RunName = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Of the run folder, after its time.")]


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The options that describe the request, as given."""

    method: str | None = None
    headers: tuple[str, ...] = ()
    body: str | None = None
    body_file: Path | None = None
    insecure: bool = False
    cacert: Path | None = None

    def target(self, url: str) -> Target:
        """The target at a URL.

        Raises:
            UsageError: one of them is not accepted.
        """
        body = self._body()
        return Target.parse(
            url,
            method=("POST" if body else "GET") if self.method is None else self.method,
            headers=tuple(parse_header(line) for line in self.headers),
            body=body,
            verify=not self.insecure,
            cacert=None if self.cacert is None else str(self.cacert),
        )

    def _body(self) -> bytes:
        if self.body is not None and self.body_file is not None:
            raise UsageError("--body and --body-file are not accepted together: give one")
        if self.body_file is None:
            return (self.body or "").encode("utf-8", "surrogateescape")
        try:
            return self.body_file.read_bytes()
        except OSError as error:
            raise UsageError(f"--body-file {self.body_file}: {error.strerror}; name a file that can be read") from None
