"""hey (Go)."""

from __future__ import annotations

import csv
from pathlib import Path

from bench.clients.base import Burst, Client, Paced, Reading, Sustained, middle, search


class Hey(Client):
    """Each request's time is in its CSV, in seconds with four decimals."""

    name = "hey"
    caveat = "its times have a tenth of a millisecond"
    version_arguments = None

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N requests, N workers."""
        return [self.program, "-n", str(load.n), "-c", str(load.n), "-t", "60", "-o", "csv", load.url]

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time."""
        return [self.program, "-z", f"{load.seconds}s", "-c", str(load.connections), load.url]

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """By time: its own limit on the rate is one on each worker, who waits for the answer first."""
        return [self.program, "-z", f"{load.seconds}s", "-c", str(load.connections), "-t", "60", load.url]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """Wall: the last end, an end being offset + response-time."""
        rows = [row for row in csv.DictReader(text.splitlines()) if row["status-code"] == "200"]
        times = [1000 * float(row["response-time"]) for row in rows]
        p50_ms = middle(times)
        return Reading(
            len(rows),
            p50_ms=p50_ms,
            wall_ms=max(1000 * float(row["offset"]) + time for row, time in zip(rows, times, strict=True)),
        )

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Its own rate."""
        requests = int(search(r"^\s*\[200\]\s+(\d+) responses", text))
        return Reading(requests, rps=float(search(r"^\s*Requests/sec:\s+([\d.]+)", text)))

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """Its percentiles, in seconds."""
        requests = int(search(r"^\s*\[200\]\s+(\d+) responses", text))
        p50_ms, p99_ms = (1000 * float(search(rf"^\s*{q}%+ in ([\d.]+) secs", text)) for q in (50, 99))
        return Reading(requests, p50_ms=p50_ms, p99_ms=p99_ms)
