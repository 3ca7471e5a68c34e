"""How many requests a server works on: counters in a small file that server and starter both map.

The file is named by the environment variable `LOADRIG_STATS`, so that the starter can read it when every thread of the
server is busy and no request would get through. It also makes the counters one over all worker processes.

The file is a row of signed 64-bit integers in native order, in the order of `_Field`. Aligned 64-bit loads and stores
do not tear, so a reader needs no lock: each figure is exact, though two figures may be a request apart.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import mmap
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

STATS_VARIABLE: Final = "LOADRIG_STATS"

_NO_LIMIT: Final = -1
_SIZE: Final = 64


class _Field(enum.IntEnum):
    IN_FLIGHT = 0
    PEAK = 1
    SERVED = 2
    WORKERS = 3
    PROCESSES = 4
    LIMIT = 5


@dataclass(frozen=True, slots=True)
class Counters:
    """What a server counted. Requests for /stats, and those refused as 400, 404 or 405, are not counted.

    Attributes:
        in_flight: requests that an endpoint works on now.
        peak: the largest `in_flight` since the start, or since `StatsFile.reset_peak`.
        served: requests that an endpoint has finished.
        workers: processes that have announced themselves as ready to serve.
        limit: how many the profile says it works on at once; None for no limit.
    """

    in_flight: int
    peak: int
    served: int
    workers: int
    limit: int | None


class StatsFile:
    """The mapped counters, as their creator and readers see them."""

    def __init__(self, path: Path | None) -> None:
        """Map the file at `path`; with None, counters of this process and its forks alone."""
        if path is None:
            self._fd = -1
            self._map = mmap.mmap(-1, _SIZE)
        else:
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            self._map = mmap.mmap(self._fd, _SIZE)
        self._fields = memoryview(self._map).cast("q")
        if path is None:
            self._fields[_Field.LIMIT] = _NO_LIMIT

    @classmethod
    def create(cls, path: Path, *, limit: int | None, processes: int) -> Self:
        """Make the file for a server of `processes` worker processes, all counters at 0."""
        path.write_bytes(bytes(_SIZE))
        stats = cls(path)
        stats._fields[_Field.LIMIT] = _NO_LIMIT if limit is None else limit
        stats._fields[_Field.PROCESSES] = processes
        return stats

    def read(self) -> Counters:
        """The counters as they are now."""
        fields = self._fields
        limit = fields[_Field.LIMIT]
        return Counters(
            in_flight=fields[_Field.IN_FLIGHT],
            peak=fields[_Field.PEAK],
            served=fields[_Field.SERVED],
            workers=fields[_Field.WORKERS],
            limit=None if limit == _NO_LIMIT else limit,
        )

    def reset_peak(self) -> None:
        """Begin a new peak. Exact only while no request begins; meant for the pause between two runs."""
        self._fields[_Field.PEAK] = self._fields[_Field.IN_FLIGHT]

    def close(self) -> None:
        """Let go of the mapping. The file stays."""
        self._fields.release()
        self._map.close()
        if self._fd >= 0:
            os.close(self._fd)


class Gauge(StatsFile):
    """The counters, as a server process keeps them: `with gauge:` around the work on one request."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._lock = threading.Lock()
        # A peak over several processes is exact only if no other process counts in between. A record lock belongs to
        # the process, so it also holds between workers forked after the file was opened, which flock would not.
        self._shared = self._fields[_Field.PROCESSES] > 1

    @classmethod
    def from_environment(cls) -> Self:
        """The gauge of the file that the starter named, or one of this process alone."""
        name = os.environ.get(STATS_VARIABLE)
        return cls(Path(name) if name else None)

    def announce(self) -> None:
        """Count this process as ready to serve."""
        with self._exclusive():
            self._fields[_Field.WORKERS] += 1

    def __enter__(self) -> None:
        fields = self._fields
        with self._exclusive():
            in_flight = fields[_Field.IN_FLIGHT] + 1
            fields[_Field.IN_FLIGHT] = in_flight
            if in_flight > fields[_Field.PEAK]:
                fields[_Field.PEAK] = in_flight

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fields = self._fields
        with self._exclusive():
            fields[_Field.IN_FLIGHT] -= 1
            fields[_Field.SERVED] += 1

    def _exclusive(self) -> contextlib.AbstractContextManager[object]:
        return self._over_processes() if self._shared else self._lock

    @contextlib.contextmanager
    def _over_processes(self) -> Iterator[None]:
        # Record locks do not hold between threads of one process; hence both.
        with self._lock:
            fcntl.lockf(self._fd, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._fd, fcntl.LOCK_UN)
