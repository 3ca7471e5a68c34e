"""vegeta (Go): made for a rate, not for a count."""

from __future__ import annotations

import json
from pathlib import Path

from bench.clients.base import Burst, Client, Paced, Reading, Sustained
from bench.errors import ReadingError


class Vegeta(Client):
    """The attack writes a file, which `vegeta report` reads afterwards."""

    name = "vegeta"
    caveat = "has no count: N workers fire once each, and one of them once more after its answer, so no wall"
    holds_a_rate = True
    version_arguments = ("-version",)

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N workers without pacing, for less than the second that the first answer takes: one request each."""
        return self._attack(load.url, 0, load.n, "900ms", scratch)

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """As many workers as connections."""
        return self._attack(load.url, 0, load.connections, f"{load.seconds}s", scratch)

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """As many workers as it may need."""
        return self._attack(load.url, load.rate, load.connections, f"{load.seconds}s", scratch)

    def _attack(self, url: str, rate: int, workers: int, duration: str, scratch: Path) -> list[str]:
        targets = scratch / "targets"
        targets.write_text(f"GET {url}\n")
        return [
            self.program, "attack", f"-rate={rate}", f"-workers={workers}", f"-max-workers={workers}",
            f"-connections={workers}", f"-duration={duration}", "-timeout=60s",
            f"-targets={targets}", f"-output={scratch / 'results'}",
        ]  # fmt: skip

    def digest(self, scratch: Path) -> list[str]:
        """The report, as JSON."""
        return [self.program, "report", "-type=json", str(scratch / "results")]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """Its 50th percentile, in ns."""
        result = json.loads(text)
        return Reading(_requests(result), p50_ms=result["latencies"]["50th"] / 1e6)

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Its throughput, which counts successes alone."""
        result = json.loads(text)
        return Reading(_requests(result), rps=result["throughput"])

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """Its percentiles, in ns."""
        result = json.loads(text)
        latencies = result["latencies"]
        return Reading(_requests(result), p50_ms=latencies["50th"] / 1e6, p99_ms=latencies["99th"] / 1e6)


def _requests(result: dict[str, int]) -> int:
    if result["success"] != 1:
        raise ReadingError("requests failed")
    return result["requests"]
