"""bombardier (Go, fasthttp)."""

from __future__ import annotations

import json
from pathlib import Path

from bench.clients.base import Burst, Client, Reading, Sustained
from bench.errors import ReadingError


class Bombardier(Client):
    """Its JSON; times in microseconds."""

    name = "bombardier"

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N connections, N requests, with percentiles (-l)."""
        return self._command(["-n", str(load.n), "-c", str(load.n), "-l"], load.url)

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time."""
        return self._command(["-d", f"{load.seconds}s", "-c", str(load.connections)], load.url)

    def _command(self, load: list[str], url: str) -> list[str]:
        return [self.program, *load, "-t", "60s", "-o", "json", "-p", "r", url]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """Percentile 50, and the time taken."""
        result = json.loads(text)["result"]
        p50_ms = result["latency"]["percentiles"]["50"] / 1000
        return Reading(_requests(result), p50_ms=p50_ms, wall_ms=1000 * result["timeTakenSeconds"])

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """All that were answered over the time taken; its own mean rate is one of samples."""
        result = json.loads(text)["result"]
        requests = _requests(result)
        return Reading(requests, rps=requests / result["timeTakenSeconds"])


def _requests(result: dict[str, int]) -> int:
    failed = result["req4xx"] + result["req5xx"] + result["others"]
    if failed:
        raise ReadingError(f"{failed} requests failed")
    return result["req2xx"]
