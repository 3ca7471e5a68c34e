"""h2load of nghttp2, as a client of HTTP/1.1: one thread."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.clients.base import Burst, Client, Reading, Sustained, middle, search
from bench.errors import ReadingError

_UNIT_MS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0}


class H2load(Client):
    """Each request's time is in the log: when it was sent (us), status, how long it took (us)."""

    name = "h2load"
    caveat = "its times leave out the connect; its wall has three digits"

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """One request a client, N clients."""
        count = ["-n", str(load.n), "-c", str(load.n), "-m", "1", "-t", "1"]
        return [self.program, "--h1", *count, f"--log-file={scratch / 'log'}", load.url]

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time."""
        timed = ["-D", str(load.seconds), "--warm-up-time=0", "-c", str(load.connections), "-m", "1", "-t", "1"]
        return [self.program, "--h1", *timed, load.url]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """The log's third column."""
        rows = [line.split("\t") for line in (scratch / "log").read_text().splitlines()]
        times = [int(took) / 1000 for _, status, took in rows if status == "200"]
        wall, unit = (
            search(r"^finished in ([\d.]+ ?(?:us|ms|s)),", text),
            search(r"^finished in [\d.]+(us|ms|s),", text),
        )
        wall_ms = float(wall.removesuffix(unit)) * _UNIT_MS[unit]
        return Reading(_requests(text), p50_ms=middle(times), wall_ms=wall_ms)

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Its own rate."""
        return Reading(_requests(text), rps=float(search(r"^finished in [^,]+, ([\d.]+) req/s", text)))


def _requests(text: str) -> int:
    for what in ("failed", "errored"):
        count = search(rf"^requests: .*\b(\d+) {what}", text)
        if count != "0":
            raise ReadingError(f"{count} requests {what}")
    return int(search(r"^requests: .*\b(\d+) succeeded", text))
