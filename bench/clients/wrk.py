"""wrk: one thread, a time instead of a count."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.clients.base import Burst, Client, Paced, Reading, Sustained, search
from bench.errors import ReadingError

_BURST_S: Final = 2
"""As long as the first answers of a burst need on a slow machine; shorter than any second answer."""
_UNITS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
_SCRIPT: Final = 'done = function(_, latency, _) print("p50_us " .. latency:percentile(50)) end\n'


class Wrk(Client):
    """Its printed p50 has three digits only, so that a script of one line gives it in full."""

    name = "wrk"
    caveat = "sends again after each answer and cannot stop after N; its times leave out the connect"
    version_arguments = ("--version",)

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N connections for a time in which each gets one answer, or two."""
        script = scratch / "p50.lua"
        script.write_text(_SCRIPT)
        connections = ["-t1", f"-c{load.n}", f"-d{_BURST_S}s", "--timeout", "60s"]
        return [self.program, *connections, "-s", str(script), load.url]

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """One thread."""
        return [self.program, "-t1", f"-c{load.connections}", f"-d{load.seconds}s", load.url]

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """It holds no rate: each connection sends again after its answer."""
        connections = ["-t1", f"-c{load.connections}", f"-d{load.seconds}s", "--timeout", "60s"]
        return [self.program, *connections, "--latency", load.url]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """The script's line."""
        return Reading(_requests(text), p50_ms=float(search(r"^p50_us (\d+)", text)) / 1000)

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Its own rate."""
        return Reading(_requests(text), rps=float(search(r"^Requests/sec:\s+([\d.]+)", text)))

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """Its printed percentiles, which have three digits."""
        return Reading(_requests(text), p50_ms=_percentile_ms(50, text), p99_ms=_percentile_ms(99, text))


class Wrk2(Wrk):
    """wrk with a rate: each connection holds its part, and times count from when a request should have left."""

    name = "wrk2"
    caveat = ""
    largest_burst = 0
    holds_a_rate = True

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """At a rate that it cannot reach."""
        return [*super().sustained(load, scratch), "-R1000000"]

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """One thread."""
        return [*super().paced(load, scratch), f"-R{load.rate}"]


def _percentile_ms(q: int, text: str) -> float:
    shown = search(rf"^\s*{q}(?:\.000)?%\s+([\d.]+(?:us|ms|s|m))$", text)
    number = shown.rstrip("ums")
    return float(number) * _UNITS[shown[len(number) :]]


def _requests(text: str) -> int:
    if "Socket errors:" in text or "Non-2xx" in text:
        raise ReadingError(search(r"^\s*((?:Socket errors|Non-2xx).*)", text))
    return int(search(r"^\s*(\d+) requests in", text))
