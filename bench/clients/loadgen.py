"""loadgen, by its console command."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bench.clients.base import Burst, Client, Paced, Reading, Sustained
from bench.errors import BenchError, ReadingError

_OTHER_ENGINES_UP_TO: Final = 400
"""They need up to minutes for more."""


class Loadgen(Client):
    """One engine of it. What it says of the run itself is in its JSON; what the whole command takes, the bench sees."""

    name = "loadgen"
    holds_a_rate = True

    def __init__(self, engine: str = "wire") -> None:
        super().__init__(console_command("loadgen"))
        self.engine = engine
        self.largest_burst = None if engine == "wire" else _OTHER_ENGINES_UP_TO
        self.name = "loadgen" if engine == "wire" else f"loadgen --engine {engine}"

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N at once is its default."""
        return self._command(load.url, ["-n", str(load.n)])

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By count."""
        return self._command(load.url, ["-n", str(load.requests), "-c", str(load.connections)])

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """An open load."""
        return self._command(load.url, ["--rate", str(load.rate), "-z", f"{load.seconds}s"])

    def _command(self, url: str, load: list[str]) -> list[str]:
        return [self.program, url, *load, "--engine", self.engine, "--quiet", "--output-format", "json"]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """The one run."""
        run = _run(text)
        return Reading(run["ok"], p50_ms=run["p50_ms"], wall_ms=run["wall_ms"])

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """The one run; its CPU is that of the time between the start and the end of the run."""
        run = _run(text)
        cpu_s = run["client"]["cpu_percent"] / 100 * run["wall_ms"] / 1000
        return Reading(run["ok"], rps=run["throughput_rps"], wall_ms=run["wall_ms"], cpu_s=cpu_s)

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """The one run."""
        run = _run(text)
        late_ms = run["lateness"]["p99_ms"]
        return Reading(run["ok"], p50_ms=run["p50_ms"], p99_ms=run["p99_ms"], late_p99_ms=late_ms)


def console_command(name: str) -> str:
    """The path of a console script of this environment.

    Raises:
        BenchError: it is not installed.
    """
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise BenchError(f"the command {name} is not installed beside {Path(sys.executable).name}: run `make setup`")
    return str(path)


def other_engines() -> list[Loadgen]:
    """loadgen with each of its engines beside wire that this tree has."""
    return [Loadgen(name) for name in ("aiohttp", "httpx") if find_spec(f"loadgen.engines.{name}_engine") is not None]


def _run(text: str) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(text)["runs"][0]
    if run["failed"]:
        raise ReadingError(f"{run['failed']} requests failed: {run['failures']}")
    return run
