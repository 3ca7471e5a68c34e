"""The floor client, in C: what the machine allows."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

from bench.clients.base import Burst, Client, Reading, Sustained
from bench.errors import ReadingError


class Floor(Client):
    """`reference/floor.c`; bursts only."""

    name = "floor (C)"
    version_arguments = None

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N sockets, connected and sent on together."""
        url = urlsplit(load.url)
        return [self.program, str(url.port), str(load.n), url.path]

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """It has none."""
        raise NotImplementedError

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """Its JSON, in loadgen's terms."""
        result = json.loads(text)
        return Reading(result["ok"], p50_ms=result["p50_ms"], wall_ms=result["wall_ms"])

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """It has none."""
        raise ReadingError("bursts only")
