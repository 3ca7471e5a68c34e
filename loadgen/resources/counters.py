"""A server's own counters, in a file that it maps: how many it works on, how many wait, its garbage collections.

Which field of the file holds what, its maker says (`servers.stats.LAYOUT`); each is a signed 64-bit integer.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from loadgen.resources.seen import Collection

_NOT_TOLD: Final = -1


class ServerCounters:
    """Reads them; nothing is asked of the server."""

    def __init__(self, path: Path, layout: Mapping[str, int]) -> None:
        """Raises OSError or ValueError where there is no such file."""
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._fields = memoryview(self._map).cast("q")
        self._layout = layout

    def close(self) -> None:
        """Lets go of the file."""
        self._fields.release()
        self._map.close()

    @property
    def in_flight(self) -> int | None:
        """How many requests it works on; None: it does not count them."""
        return self._fields[self._layout["in_flight"]] if self._fields[self._layout["workers"]] else None

    @property
    def waiting(self) -> int | None:
        """How many wait in it to be worked on; None: it does not tell."""
        return self._told("waiting")

    @property
    def collected_ns(self) -> int | None:
        """For how long it has collected garbage since its start; None: it does not tell."""
        return self._told("collected_ns")

    def collections(self, since_ns: int) -> list[Collection]:
        """The long collections that ended since a moment, in order; the oldest may have been overwritten."""
        first, places = self._layout["ring"], self._layout["ring_places"]
        known = min(self._fields[self._layout["collections"]], places)
        pairs = [(self._fields[place], self._fields[place + 1]) for place in range(first, first + 2 * known, 2)]
        return sorted(Collection(begin, end) for begin, end in pairs if end >= since_ns)

    def _told(self, name: str) -> int | None:
        value = self._fields[self._layout[name]]
        return None if value == _NOT_TOLD else value
