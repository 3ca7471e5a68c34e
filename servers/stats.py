"""How many requests a server works on: counters in a small file that server and starter both map.

The file is named by the environment variable `LOADRIG_STATS`, so that the starter can read it when every thread of the
server is busy and no request would get through. It also makes the counters one over all worker processes.

The file is a row of signed 64-bit integers in native order, in the order of the indices below. Aligned 64-bit loads and
stores do not tear, so a reader needs no lock: each figure is exact, though two figures may be a request apart.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

STATS_VARIABLE: Final = "LOADRIG_STATS"

_NO_LIMIT: Final = -1
_SIZE: Final = 64


_IN_FLIGHT, _PEAK, _SERVED, _WORKERS, _PROCESSES, _LIMIT = range(6)


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
            self._fields[_LIMIT] = _NO_LIMIT

    @classmethod
    def create(cls, path: Path, *, limit: int | None, processes: int) -> Self:
        """Make the file for a server of `processes` worker processes, all counters at 0."""
        path.write_bytes(bytes(_SIZE))
        stats = cls(path)
        stats._fields[_LIMIT] = _NO_LIMIT if limit is None else limit
        stats._fields[_PROCESSES] = processes
        return stats

    def read(self) -> Counters:
        """The counters as they are now."""
        fields = self._fields
        limit = fields[_LIMIT]
        return Counters(
            in_flight=fields[_IN_FLIGHT],
            peak=fields[_PEAK],
            served=fields[_SERVED],
            workers=fields[_WORKERS],
            limit=None if limit == _NO_LIMIT else limit,
        )

    def reset_peak(self) -> None:
        """Begin a new peak. Exact only while no request begins; meant for the pause between two runs."""
        self._fields[_PEAK] = self._fields[_IN_FLIGHT]

    def close(self) -> None:
        """Let go of the mapping. The file stays."""
        self._fields.release()
        self._map.close()
        if self._fd >= 0:
            os.close(self._fd)


class _ProcessLock:
    """A lock over the threads of all processes that have the file at `fd` open.

    A record lock belongs to the process, so it also holds between workers forked after the file was opened, which flock
    would not; for that very reason it does not hold between threads, and a second lock must.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._threads = threading.Lock()

    def __enter__(self) -> None:
        self._threads.acquire()
        fcntl.lockf(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN)
        self._threads.release()


class Gauge(StatsFile):
    """The counters, as a server process keeps them: `with gauge:` around the work on one request, or `show`."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        # The peak over several processes is exact only if no other process counts in between.
        several = self._fields[_PROCESSES] > 1
        self._lock: AbstractContextManager[object] = _ProcessLock(self._fd) if several else threading.Lock()

    @classmethod
    def from_environment(cls) -> Self:
        """The gauge of the file that the starter named, or one of this process alone."""
        name = os.environ.get(STATS_VARIABLE)
        return cls(Path(name) if name else None)

    def announce(self) -> None:
        """Count this process as ready to serve."""
        with self._lock:
            self._fields[_WORKERS] += 1

    def show(self, in_flight: int) -> None:
        """Say how many are worked on now: for a server of one thread that keeps that count itself."""
        fields = self._fields
        fields[_IN_FLIGHT] = in_flight
        if in_flight > fields[_PEAK]:
            fields[_PEAK] = in_flight

    def finish(self) -> None:
        """Count one request more as finished: for such a server."""
        self._fields[_SERVED] += 1

    def reset(self) -> None:
        """Count anew: for such a server."""
        self._fields[_SERVED] = 0
        self.reset_peak()

    def __enter__(self) -> None:
        fields = self._fields
        with self._lock:
            in_flight = fields[_IN_FLIGHT] + 1
            fields[_IN_FLIGHT] = in_flight
            if in_flight > fields[_PEAK]:
                fields[_PEAK] = in_flight

    def __exit__(self, *_: object) -> None:
        fields = self._fields
        with self._lock:
            fields[_IN_FLIGHT] -= 1
            fields[_SERVED] += 1
