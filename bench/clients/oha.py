"""oha (Rust)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.clients.base import Burst, Client, Paced, Reading, Sustained
from bench.errors import ReadingError


class Oha(Client):
    """Its JSON; times in seconds. `--output-format` came with version 1.9."""

    name = "oha"
    holds_a_rate = True

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N connections, N requests."""
        return self._command(["-n", str(load.n), "-c", str(load.n)], load.url)

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time, waiting for the last answers so that none counts as an error."""
        return self._command(["-z", f"{load.seconds}s", "-w", "-c", str(load.connections)], load.url)

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """With its correction for coordinated omission."""
        pace = ["-q", str(load.rate), "--latency-correction"]
        return self._command(["-z", f"{load.seconds}s", "-w", "-c", str(load.connections), *pace], load.url)

    def _command(self, load: list[str], url: str) -> list[str]:
        return [self.program, "--no-tui", "--output-format", "json", "-t", "60s", *load, url]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """Percentile 50, and the total."""
        result = json.loads(text)
        p50_ms = 1000 * result["latencyPercentiles"]["p50"]
        return Reading(_requests(result), p50_ms=p50_ms, wall_ms=1000 * result["summary"]["total"])

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Its own rate."""
        result = json.loads(text)
        return Reading(_requests(result), rps=result["summary"]["requestsPerSec"])

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """Its percentiles."""
        result = json.loads(text)
        percentiles = result["latencyPercentiles"]
        return Reading(_requests(result), p50_ms=1000 * percentiles["p50"], p99_ms=1000 * percentiles["p99"])


def _requests(result: dict[str, Any]) -> int:
    statuses = result["statusCodeDistribution"]
    if result["errorDistribution"] or set(statuses) != {"200"}:
        raise ReadingError("requests failed")
    return int(statuses["200"])
