"""autocannon (Node)."""

from __future__ import annotations

import json
from pathlib import Path

from bench.clients.base import Burst, Client, Reading, Sustained
from bench.errors import ReadingError


class Autocannon(Client):
    """Its JSON; times in whole milliseconds."""

    name = "autocannon"
    caveat = "its times are whole milliseconds; it sees its end only at its next sample, one a second, so no wall"

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N connections, N requests."""
        return [self.program, "-c", str(load.n), "-a", str(load.n), "-t", "60", "-j", load.url]

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time."""
        return [self.program, "-c", str(load.connections), "-d", str(load.seconds), "-j", load.url]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """The p50 of its histogram."""
        result = json.loads(text)
        return Reading(_requests(result), p50_ms=float(result["latency"]["p50"]))

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """All that were answered over the whole duration."""
        result = json.loads(text)
        requests = _requests(result)
        return Reading(requests, rps=requests / result["duration"])


def _requests(result: dict[str, int]) -> int:
    failed = result["errors"] + result["non2xx"]
    if failed:
        raise ReadingError(f"{failed} requests failed")
    return result["2xx"]
