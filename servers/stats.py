"""How many requests a server works on: counters in a small file that server and starter both map.

The file is named by the environment variable `LOADRIG_STATS`, so that the starter can read it when every thread of the
server is busy and no request would get through. It also makes the counters one over all worker processes.

The file is a row of signed 64-bit integers in native order, in the order of the indices below. Aligned 64-bit loads and
stores do not tear, so a reader needs no lock: each figure is exact, though two figures may be a request apart.

Beyond the counters stand the latest garbage collections of those servers whose runtime tells of them (see `garbage`).
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from servers.garbage import Collector

STATS_VARIABLE: Final = "LOADRIG_STATS"

_NO_LIMIT: Final = -1
_NOT_TOLD: Final = -1
_SIZE: Final = 1024

_IN_FLIGHT, _PEAK, _SERVED, _WORKERS, _PROCESSES, _LIMIT, _WAITING, _COLLECTED_NS, _COLLECTIONS = range(9)
_RING: Final = 16
"""The first field of the collections: begin and end of each, ns of the monotonic clock, the newest over the oldest."""
_RING_PLACES: Final = (_SIZE // 8 - _RING) // 2

LAYOUT: Final[Mapping[str, int]] = MappingProxyType(
    {
        "in_flight": _IN_FLIGHT,
        "workers": _WORKERS,
        "waiting": _WAITING,
        "collected_ns": _COLLECTED_NS,
        "collections": _COLLECTIONS,
        "ring": _RING,
        "ring_places": _RING_PLACES,
    }
)
"""Which field holds what, for one that reads the file and does not import this. No workers: the server counts no
requests. -1 in waiting and collected_ns: it does not tell them."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What a server counted. Requests for /stats and /metrics, and those refused as 400, 404 or 405, are not counted.

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
            self._clear(limit=None)

    @classmethod
    def create(cls, path: Path, *, limit: int | None, processes: int) -> Self:
        """Make the file for a server of `processes` worker processes, all counters at 0."""
        path.write_bytes(bytes(_SIZE))
        stats = cls(path)
        stats._clear(limit=limit)
        stats._fields[_PROCESSES] = processes
        return stats

    def _clear(self, *, limit: int | None) -> None:
        self._fields[_LIMIT] = _NO_LIMIT if limit is None else limit
        self._fields[_WAITING] = self._fields[_COLLECTED_NS] = _NOT_TOLD

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

    @property
    def waiting(self) -> int | None:
        """Requests that wait in the server to be worked on; None where it does not tell."""
        waiting = self._fields[_WAITING]
        return None if waiting == _NOT_TOLD else waiting

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
        self._several = several
        self._collector = Collector(self._note_collection)

    @classmethod
    def from_environment(cls) -> Self:
        """The gauge of the file that the starter named, or one of this process alone."""
        name = os.environ.get(STATS_VARIABLE)
        return cls(Path(name) if name else None)

    def announce(self) -> None:
        """Count this process as ready to serve, and note its garbage collections from now on."""
        with self._lock:
            self._fields[_WORKERS] += 1
            self._fields[_COLLECTED_NS] = max(self._fields[_COLLECTED_NS], 0)
        self._collector.begin()

    def close(self) -> None:
        """Let go of the mapping. The file stays."""
        self._collector.end()
        super().close()

    def show(self, in_flight: int) -> None:
        """Say how many are worked on now: for a server of one thread that keeps that count itself."""
        fields = self._fields
        fields[_IN_FLIGHT] = in_flight
        if in_flight > fields[_PEAK]:
            fields[_PEAK] = in_flight

    def show_waiting(self, waiting: int) -> None:
        """Say how many wait to be worked on: for a server that knows them."""
        self._fields[_WAITING] = waiting

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

    def _note_collection(self, begin_ns: int, end_ns: int, *, is_long: bool) -> None:
        fields = self._fields
        with self._collections_locked() if self._several else nullcontext():
            fields[_COLLECTED_NS] += end_ns - begin_ns
            if is_long:
                place = _RING + 2 * (fields[_COLLECTIONS] % _RING_PLACES)
                fields[place], fields[place + 1] = begin_ns, end_ns
                fields[_COLLECTIONS] += 1  # last: a reader trusts what it counts

    @contextmanager
    def _collections_locked(self) -> Iterator[None]:
        """Not by `_lock`: a collection comes at any bytecode, also while that is held. A process has one at a time."""
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 8, 8 * _COLLECTED_NS)
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 8, 8 * _COLLECTED_NS)
