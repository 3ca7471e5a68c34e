"""What the tests of the command `rig` share: the console script in a process, its servers, and what it prints."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from servers.stats import STATS_VARIABLE, Counters, StatsFile
from tests.servers.support import eventually

RIG: Final = Path(sys.executable).parent / "rig"

PATIENCE_S: Final = 60.0


class Place:
    """A folder in which rig keeps what it makes while it runs, and by which its servers are known."""

    def __init__(self, path: Path, **environment: str) -> None:
        self.path = path
        self._environment = environment

    def run(
        self, *arguments: str, stderr: int = subprocess.PIPE, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs rig to its end."""
        return subprocess.run(
            [RIG, *_keeping_nothing(arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            timeout=PATIENCE_S,
            env=self.environment,
            cwd=cwd,
        )

    @contextlib.contextmanager
    def running(
        self, *arguments: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
    ) -> Iterator[subprocess.Popen[str]]:
        """Runs rig beside the block; what is left of it and of its servers after that is killed."""
        with subprocess.Popen(
            [RIG, *_keeping_nothing(arguments)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            env=self.environment,
        ) as process:
            try:
                yield process
            finally:
                process.kill()
                for server in self.servers():
                    with contextlib.suppress(psutil.Error):
                        server.kill()

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.path), "TERM": "xterm", "COLUMNS": "120", **self._environment}

    def servers(self) -> list[psutil.Process]:
        """The living processes that rig started here, and what they started, whoever their parent is by now."""
        found = []
        for process in psutil.process_iter():
            # A process may end while it is looked at.
            with contextlib.suppress(psutil.Error, OSError):
                stats = process.environ().get(STATS_VARIABLE, "")
                if stats.startswith(f"{self.path}{os.sep}") and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def server(self, word: str) -> psutil.Process:
        """The first process of the server in whose command line the word stands."""
        return next(
            process
            for process in self.servers()
            if word in process.cmdline() and os.getpgid(process.pid) == process.pid
        )

    def in_flight(self) -> int:
        """How many requests the servers here work on now, by their own count."""
        return sum(counters.in_flight for counters in self._each_counted())

    def served(self) -> int:
        """How many requests they have finished."""
        return sum(counters.served for counters in self._each_counted())

    def _each_counted(self) -> Iterator[Counters]:
        for path in self.path.glob("loadrig-*/stats"):
            # The file may be about to be made, or removed by now.
            with contextlib.suppress(OSError, ValueError):
                stats = StatsFile(path)
                yield stats.read()
                stats.close()

    def assert_empty(self) -> None:
        """No server lives, and no file of one is left."""
        assert eventually(lambda: not self.servers())
        assert not list(self.path.glob("loadrig-*"))


def _keeping_nothing(arguments: Sequence[str]) -> Sequence[str]:
    """Comparisons and scenarios keep nothing, but those that are told to."""
    keeps = arguments[:1] not in (("compare",), ("run",)) or "--save" in arguments
    return arguments if keeps else (arguments[0], "--no-save", *arguments[1:])


def interrupt(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> tuple[str, str]:
    """Sends the signal and gives what was printed until the end, which must come soon."""
    process.send_signal(number)
    return process.communicate(timeout=PATIENCE_S)


class Terminal:
    """A pseudo-terminal whose other side is read all the time. Entered, it gives the side for a process."""

    def __init__(self) -> None:
        self._ours, self.theirs = os.openpty()
        self._data = b""
        self._reading = threading.Thread(target=self._read)

    def __enter__(self) -> Terminal:
        self._reading.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        os.close(self.theirs)
        self._reading.join()
        os.close(self._ours)

    @property
    def text(self) -> str:
        """What was shown, without the escape sequences. Complete after the block."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._data.decode())

    def _read(self) -> None:
        # When the last one that had the other side open closes it, reading fails.
        with contextlib.suppress(OSError):
            while chunk := os.read(self._ours, 65_536):
                self._data += chunk


METRICS: Final = re.compile(
    r"requests=(?P<requests>\d+) concurrency=(?P<concurrency>\d+) ok=(?P<ok>\d+) failed=(?P<failed>\d+)"
    r" wall_ms=(?P<wall_ms>\d+|n/a) min_ms=(?P<min_ms>\d+|n/a) p50_ms=(?P<p50_ms>\d+|n/a) max_ms=(?P<max_ms>\d+|n/a)"
    r" over(?P<over_ms>\d+)ms=(?P<over>\d+)(?: [a-z]\w*=\S+)*"
)
HEADING: Final = re.compile(r"(?P<spec>\S+) \((?P<server>.+)\)")
SENTENCE: Final = re.compile(r"(Raising|Lowering|Changing|Going|Measuring) .+: median wall \S+( ms)? -> \S+( ms)?")
NOTE: Final = re.compile(r"\S+(: runs? .+ left out:|(, .+)?: too few runs|: requests failed) .+")
ARGS: Final = re.compile(r"##### server args:(?P<args>(?: --[a-z-]+=\S+)*)")
RUN: Final = re.compile(r"-- N=(?P<n>\d+) run (?P<run>[1-9]\d*)")
FAILED: Final = re.compile(r"failed:(?: [a-z0-9-]+=[1-9]\d*)+")
SERVER: Final = re.compile(
    r"server: peak (?:cpu=(?P<cpu>\d+) % )?(?:memory=(?P<memory>\d+) MB )?threads=(?P<threads>\d+)"
    r"(?: queue=(?P<queue>\d+) of (?P<queue_limit>\d+))?(?: garbage collection=(?P<collected>\d+) ms in all)?"
)
WHY: Final = re.compile(r"why: \S.*\.")


@dataclass
class TextRun:
    n: int
    run: int
    figures: dict[str, int | None]
    failures: dict[str, int] = field(default_factory=dict)
    server: dict[str, str] = field(default_factory=dict)
    """What it took at most; empty where that was not looked at."""
    why: list[str] = field(default_factory=list)


@dataclass
class Block:
    spec: str
    server: str
    args: str
    runs: list[TextRun] = field(default_factory=list)


@dataclass
class Report:
    """The text output of `rig compare`, read strictly: any line that the contract does not know is an error."""

    blocks: list[Block]
    table: list[list[str]]
    """Rows of cells, the heading's first."""
    against: list[list[str]]
    """Rows of cells, the heading's first: each profile against the first one. Empty where there is one alone."""
    notes: list[str]
    """What stands below that table."""
    sentences: list[str]
    """What each profile but the first changed."""
    fail_if: list[str]


def parse_report(text: str) -> Report:
    assert text.endswith("\n")
    lines = text.splitlines()
    table_begins = max(index for index, line in enumerate(lines) if not line) + 1
    fail_if = [line for line in lines[table_begins:] if line.startswith("fail-if: ")]
    sentences = [line for line in lines[table_begins:] if SENTENCE.fullmatch(line)]
    rows = lines[table_begins : len(lines) - len(sentences) - len(fail_if)]
    notes = [line for line in rows if NOTE.fullmatch(line)]
    cells = [re.split(r" {2,}", line) for line in rows[: len(rows) - len(notes)]]
    profiles = next((index for index, row in enumerate(cells) if row[0].startswith("against ")), len(cells))
    blocks = list(_parse_blocks(iter(lines[:table_begins])))
    return Report(blocks, cells[:profiles], cells[profiles:], notes, sentences, fail_if)


def _parse_blocks(lines: Iterator[str]) -> Iterator[Block]:
    for heading in lines:
        spec, server = _match(HEADING, heading).groups()
        block = Block(spec, server, _match(ARGS, next(lines))["args"].strip())
        for line in lines:
            if not line:
                break
            if RUN.fullmatch(line):
                n, run = map(int, _match(RUN, line).groups())
                block.runs.append(TextRun(n, run, _figures(_match(METRICS, next(lines)).groupdict())))
            elif line.startswith("server: "):
                assert not block.runs[-1].why
                block.runs[-1].server = _match(SERVER, line).groupdict()
            elif line.startswith("failed:"):
                assert not block.runs[-1].why
                block.runs[-1].failures = _counts(_match(FAILED, line)[0].split()[1:])
            else:
                block.runs[-1].why.append(_match(WHY, line)[0])
        for one in block.runs:
            _assert_consistent(one)
        yield block


def _assert_consistent(run: TextRun) -> None:
    figures = run.figures
    assert figures["requests"] == run.n
    assert figures["ok"] is not None
    assert figures["failed"] == run.n - figures["ok"] == sum(run.failures.values())
    times = [figures[name] for name in ("min_ms", "p50_ms", "max_ms")]
    known = [time for time in times if time is not None]
    assert len(known) == (3 if figures["ok"] else 0)
    assert known == sorted(known)


def _match(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    match = pattern.fullmatch(line)
    assert match, f"{line!r} is not {pattern.pattern}"
    return match


def _figures(groups: dict[str, str]) -> dict[str, int | None]:
    return {name: None if text == "n/a" else int(text) for name, text in groups.items()}


def _counts(words: Iterable[str]) -> dict[str, int]:
    return {name: int(count) for name, count in (word.split("=") for word in words)}


def _closed(**properties: Any) -> dict[str, Any]:
    """An object with exactly these."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


_COUNT: Final = {"type": "integer", "minimum": 0}
_FIGURE: Final = {"type": ["number", "null"], "minimum": 0}
_FIGURES: Final = (
    "wall_ms", "min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms", "mean_ms", "release_ms", "throughput_rps",
)  # fmt: skip

_PEAK_COUNT: Final = {"type": ["integer", "null"], "minimum": 0}
PEAKS: Final = {
    "type": ["object", "null"],
    "properties": {
        **dict.fromkeys(("cpu_percent", "gc_pause_ms"), _FIGURE),
        **dict.fromkeys(
            ("rss_bytes", "threads", "descriptors", "context_switches", "queue", "in_flight", "waiting", "queue_limit"),
            _PEAK_COUNT,
        ),
    },
    "required": ["cpu_percent", "gc_pause_ms", "rss_bytes", "threads", "descriptors", "context_switches", "queue"],
    "additionalProperties": False,
}

RUN_SCHEMA: Final = {
    "type": "object",
    "properties": {
        **{name: {"type": "integer", "minimum": 1} for name in ("run", "requests", "concurrency", "over_ms")},
        **dict.fromkeys(("ok", "failed", "over", "bytes_in"), _COUNT),
        **dict.fromkeys(_FIGURES, _FIGURE),
        "address": {"type": "string"},
        "resent": {"type": ["integer", "null"], "minimum": 0},
        "failures": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "resources": {"anyOf": [{"type": "null"}, _closed(server=PEAKS, client=PEAKS)]},
        "trusted": {"type": "boolean"},
        "interrupted": {"type": "boolean"},
        "client": {
            "type": "object",
            "properties": {"cpu_percent": {"type": "number"}, "loop_lag_p99_ms": {"type": "number"}},
            "required": ["cpu_percent", "loop_lag_p99_ms"],
        },
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "cause": {"type": "string"},
                    "requests": _COUNT,
                    "sentence": {"type": "string"},
                    "evidence": {"type": "object"},
                },
                "required": ["cause", "requests", "sentence", "evidence"],
            },
        },
    },
    "required": [
        "run", "address", "requests", "concurrency", "ok", "failed", "failures", "over_ms", "over", "resent",
        "bytes_in", "trusted", "interrupted", "client", "findings", *_FIGURES,
    ],
}  # fmt: skip

_CENTRE: Final = _closed(
    runs=_COUNT,
    median=_FIGURE,
    interval={"type": ["array", "null"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
)


def figures_schema(a: str, b: str) -> dict[str, Any]:
    """The figures of a comparison whose sides go by these keys."""
    figure = _closed(
        unit={"enum": ["ms", "/s", "%"]},
        **{a: _CENTRE, b: _CENTRE},
        change={"type": ["number", "null"]},
        change_percent={"type": ["number", "null"]},
        p={"type": ["number", "null"], "minimum": 0, "maximum": 1},
        verdict={"enum": ["better", "worse", "~", "too few runs to tell"]},
    )
    return _closed(**dict.fromkeys(("wall", "p50", "p99", "throughput", "failed"), figure))


def left_out_schema(a: str, b: str) -> dict[str, Any]:
    """Runs that were left out of a comparison."""
    return {
        "type": "array",
        "items": _closed(
            side={"enum": [a, b]}, run={"type": "integer", "minimum": 1}, reason={"enum": ["interrupted", "untrusted"]}
        ),
    }


FAIL_IF_SCHEMA: Final = {
    "type": "array",
    "items": _closed(
        fail_if={"type": "string"}, passed={"type": ["boolean", "null"]}, reason={"type": "string", "minLength": 1}
    ),
}

_PAIR: Final = _closed(base=_FIGURE, profile=_FIGURE, difference={"type": ["number", "null"]})

COMPARISON_SCHEMA: Final = _closed(
    schema={"const": "rig/1"},
    environment={"type": "object", "required": ["loadrig", "python", "os", "kernel", "machine", "cpus"]},
    profiles={
        "type": "array",
        "minItems": 1,
        "items": _closed(
            profile={"type": "string"},
            server={"type": "string", "minLength": 1},
            args={"type": "string"},
            limits={"type": "string", "minLength": 1},
            limited_by={"type": "string", "minLength": 1},
            concurrency_limit={"type": ["integer", "null"], "minimum": 1},
            limit_known={"type": "boolean"},
            plan={"type": "object", "required": ["url", "requests", "concurrency", "runs", "over_ms", "engine"]},
            runs={"type": "array", "items": RUN_SCHEMA},
        ),
    },
    comparisons={
        "type": "array",
        "items": _closed(
            base={"type": "string"},
            profile={"type": "string"},
            sentence={"type": "string", "minLength": 1},
            median_wall_ms=_PAIR,
            median_p50_ms=_PAIR,
            median_over=_PAIR,
            figures=figures_schema("base", "profile"),
            left_out=left_out_schema("base", "profile"),
            fail_if=FAIL_IF_SCHEMA,
        ),
    },
)
"""The JSON object of `rig compare`, as docs/output.md has it. A finding may have keys of its own cause beside these."""
