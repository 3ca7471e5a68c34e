"""ab, ApacheBench: HTTP/1.0, one thread."""

from __future__ import annotations

from pathlib import Path

from bench.clients.base import Burst, Client, Reading, Sustained, search
from bench.errors import ReadingError


class Ab(Client):
    """Percentiles come from the file that `-e` writes, which has microseconds."""

    name = "ab"
    caveat = "speaks HTTP/1.0"
    version_arguments = ("-V",)

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N requests, N at a time, so that none waits for another."""
        count = ["-n", str(load.n), "-c", str(load.n)]
        return [self.program, "-q", "-s", "60", *count, "-e", str(scratch / "percent.csv"), load.url]

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time: the -n behind -t keeps -t from ending it after 50,000."""
        kept = ["-k", "-t", str(load.seconds), "-n", "100000000", "-c", str(load.connections)]
        return [self.program, "-q", *kept, load.url]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """The row of 50 per cent."""
        p50_ms = float(search(r"^50,([\d.]+)", (scratch / "percent.csv").read_text()))
        wall_ms = 1000 * float(search(r"^Time taken for tests:\s+([\d.]+)", text))
        return Reading(_requests(text), p50_ms=p50_ms, wall_ms=wall_ms)

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Its own rate."""
        return Reading(_requests(text), rps=float(search(r"^Requests per second:\s+([\d.]+)", text)))


def _requests(text: str) -> int:
    failed = int(search(r"^Failed requests:\s+(\d+)", text))
    if failed:
        raise ReadingError(f"{failed} requests failed")
    return int(search(r"^Complete requests:\s+(\d+)", text))
