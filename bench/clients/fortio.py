"""fortio (Go)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.clients.base import Burst, Client, Paced, Reading, Sustained
from bench.errors import ReadingError


class Fortio(Client):
    """Its JSON; times in seconds, from a histogram."""

    name = "fortio"
    caveat = "sends a first request on each connection before it measures, so its burst is on warm connections"
    holds_a_rate = True
    version_arguments = ("version",)

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N connections, N requests; the histogram in tenths of a millisecond."""
        return self._command(["-n", str(load.n), "-c", str(load.n), "-r", "0.0001"], load.url)

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """Each connection holds its part of the rate, and falls behind where an answer is late (-nocatchup is off)."""
        connections = ["-t", f"{load.seconds}s", "-c", str(load.connections), "-r", "0.0001"]
        return self._command(connections, load.url, rate=load.rate)

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time."""
        return self._command(["-t", f"{load.seconds}s", "-c", str(load.connections)], load.url)

    def _command(self, load: list[str], url: str, rate: int = 0) -> list[str]:
        return [
            self.program, "load", "-quiet", "-qps", str(rate), "-p", "50,99", "-timeout", "60s", *load,
            "-json", "-", url,
        ]  # fmt: skip

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """Percentile 50, and the duration (ns)."""
        result = json.loads(text)
        p50_ms = 1000 * result["DurationHistogram"]["Percentiles"][0]["Value"]
        return Reading(_requests(result), p50_ms=p50_ms, wall_ms=result["ActualDuration"] / 1e6)

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Its own rate."""
        result = json.loads(text)
        return Reading(_requests(result), rps=result["ActualQPS"])

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """Its percentiles."""
        result = json.loads(text)
        p50_ms, p99_ms = (1000 * entry["Value"] for entry in result["DurationHistogram"]["Percentiles"])
        return Reading(_requests(result), p50_ms=p50_ms, p99_ms=p99_ms)


def _requests(result: dict[str, Any]) -> int:
    codes = result["RetCodes"]
    if set(codes) != {"200"}:
        raise ReadingError("requests failed")
    return int(codes["200"])
