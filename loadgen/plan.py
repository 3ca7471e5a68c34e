"""What to do, as frozen values: a Target, a Workload (see `loadgen.workload`), and the Plan that joins them.

Everything here is checked when it is made, so that no later stage has to. Knows nothing of sockets or clocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlsplit

from loadgen.errors import UsageError
from loadgen.objective import Objective
from loadgen.placeholders import keep_placeholders
from loadgen.redaction import Redaction
from loadgen.workload import MOST_SECONDS, Stage, Workload

__all__ = ["DEFAULT_URL", "ENGINES", "Header", "Plan", "Share", "Stage", "Target", "Workload", "parse_header"]

DEFAULT_URL: Final = "http://127.0.0.1:8080/sleep"
ENGINES: Final = ("wire", "aiohttp", "httpx")
MOST_TARGETS: Final = 32_767
"""What a column of the samples can number."""
MOST_WEIGHT: Final = 1_000_000

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # may not stand in a field's value (RFC 9110, 5.5)
_PORTS: Final = {"http": 80, "https": 443}
_SCHEDULER = re.compile(r"tcp://(\[[0-9A-Fa-f:.%]+\]|[^\s/:]+):\d{1,5}")
MOST_WORKERS: Final = 256

Header = tuple[str, str]


def parse_header(line: str) -> Header:
    """The name and value of a `Name: value` line.

    Raises:
        UsageError: there is no colon, the name is not a token (RFC 9110), or the value holds a control character.
    """
    name, colon, value = line.partition(":")
    name, value = name.strip(), value.strip(" \t")
    if not colon or not _TOKEN.fullmatch(name):
        raise UsageError(f"header {line!r} is not accepted: write it as 'Name: value'")
    if _CONTROL.search(value):
        raise UsageError(f"header {line!r} is not accepted: its value holds a control character")
    return name, value


@dataclass(frozen=True, slots=True)
class Target:
    """One request, as it will be sent, and whom to."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query, percent-encoded but for placeholders; begins with '/'."""
    method: str = "GET"
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    verify: bool = True
    """Whether a TLS certificate must be valid for the host."""
    cacert: str | None = None
    """A PEM file of authorities to trust instead of the system's."""

    @classmethod
    def parse(cls, url: str, **kwargs: Any) -> Target:
        """A target from a URL; the other fields by name.

        Raises:
            UsageError: the scheme is neither http nor https, there is no host, or the port is not 1 to 65535.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"URL {url!r} is not accepted: {error}") from None
        if parts.scheme not in _PORTS:
            raise UsageError(f"URL {url!r} is not accepted: it must begin with http:// or https://")
        if not parts.hostname:
            raise UsageError(f"URL {url!r} is not accepted: it has no host, as in {DEFAULT_URL}")
        if port == 0:
            raise UsageError(f"URL {url!r} is not accepted: a port is 1 to 65535")
        if parts.username is not None:
            raise UsageError("a user name in the URL is not accepted: send it as -H 'Authorization: Basic ...'")
        return cls(
            scheme=parts.scheme,
            host=_ascii_host(parts.hostname, url),
            port=port or _PORTS[parts.scheme],
            path=_request_path(parts),
            **kwargs,
        )

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(self.method):
            raise UsageError(f"method {self.method!r} is not accepted: it must be one word, such as GET")

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them: the scheme's own port left out, IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: whom to connect to."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.origin}{self.path}"


def _ascii_host(host: str, url: str) -> str:
    """The host in ASCII (IDNA for others), or a UsageError.

    A host in ASCII goes through the same: what `getaddrinfo` cannot encode, such as an empty label, is refused here.
    """
    try:
        encoded = host.encode("idna").decode("ascii")
    except UnicodeError:
        raise UsageError(f"URL {url!r} is not accepted: {host!r} is not a host name") from None
    if not re.fullmatch(r"[0-9A-Za-z._\-:%]+", encoded):
        raise UsageError(f"URL {url!r} is not accepted: {host!r} is not a host name")
    return encoded


def _request_path(parts: SplitResult) -> str:
    """Path and query, with what may not stand in a request line percent-encoded, placeholders left out."""

    def quoted(text: str) -> str:
        return quote(text, safe="/:@!$&'()*+,;=-._~%?", errors="surrogateescape")  # arguments need not be UTF-8

    def encode(text: str) -> str:
        return keep_placeholders(text, quoted)

    path = encode(parts.path or "/")
    return f"{path}?{encode(parts.query)}" if parts.query else path


@dataclass(frozen=True, slots=True)
class Share:
    """One of several targets, and how often it has its turn."""

    target: Target
    weight: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.weight <= MOST_WEIGHT:
            raise UsageError(f"a weight of {self.weight} is not accepted: it is a whole number, 1 to {MOST_WEIGHT:,}")


@dataclass(frozen=True, slots=True)
class Plan:
    """A measurement: a workload against a target, carried out some times."""

    target: Target
    """Where there are several, the first of them."""
    workload: Workload
    runs: int = 1
    warmup: int = 0
    """Runs carried out first and not counted."""
    pause_s: float = 0.0
    """Between one run and the next."""
    over_ms: int = 1500
    """A request is late above this response time."""
    engine: str = field(default="wire")
    http2: bool = False
    allow_remote: bool = False
    """Fire at a public address."""
    server_timing: bool = False
    """Keep the durations of each response's Server-Timing header."""
    objectives: tuple[Objective, ...] = ()
    """What each run must come to."""
    workers: int = 1
    """Processes on this machine that share the load."""
    scheduler: str | None = None
    """Of a Dask cluster whose workers share the load, as tcp://HOST:PORT."""
    mix: tuple[Share, ...] = ()
    """Several targets, by turns: all of one server, because its address is looked up once. None: all requests are to
    `target`."""
    redact: tuple[str, ...] = ()
    """Names whose values are not written anywhere. See `loadgen.redaction`."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """All targets, in the order of their numbers."""
        return tuple(share.target for share in self.mix) or (self.target,)

    def __post_init__(self) -> None:
        Redaction(self.redact)
        for target in self.targets:
            if target.origin != self.target.origin:
                raise UsageError(
                    f"{target.url} is at another server than {self.target.url}: all must have one scheme, host and port"
                )
        if len(self.mix) > MOST_TARGETS:
            raise UsageError(f"{len(self.mix):,} targets are not accepted: at most {MOST_TARGETS:,}")
        if self.runs < 1:
            raise UsageError(f"{self.runs} runs are not accepted: --runs takes 1 or more")
        if self.warmup < 0:
            raise UsageError(f"{self.warmup} warm-up runs are not accepted: --warmup takes 0 or more")
        if not 0 <= self.pause_s <= MOST_SECONDS:
            raise UsageError("a pause is 0 to 24h, as in 2s or 500ms")
        if self.over_ms < 1:
            raise UsageError("--over takes 1 ms or more, as in 1500ms or 2s")
        if self.engine not in ENGINES:
            raise UsageError(f"engine {self.engine!r} is not known: {', '.join(ENGINES)}")
        if self.http2 and self.engine != "httpx":
            raise UsageError("--http2 goes through httpx: add --engine httpx")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise UsageError(f"--workers takes 1 to {MOST_WORKERS}, or auto for one a CPU")
        if self.scheduler is not None and not _SCHEDULER.fullmatch(self.scheduler):
            raise UsageError(f"--scheduler {self.scheduler!r} is not accepted: it takes tcp://HOST:PORT")
        if self.scheduler is not None and self.workers > 1:
            raise UsageError("--workers are processes of this machine, --scheduler has workers of its own: give one")
