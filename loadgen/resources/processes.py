"""What is to be seen of processes, from /proc and their CPU clocks: quick enough to be done 20 times a second.

psutil tells the same, but takes three times as long for it; of CPU time it has what the kernel rounds to 10 ms.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Final, NamedTuple

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_SCHEDULED: Final = 2  # CPUCLOCK_SCHED, include/linux/posix-timers_types.h
_SIZE_TELLS: Final = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 2)
"""From Linux 6.2 on, the size of /proc/PID/fd is the number of descriptors; before, they have to be listed."""
_FINDING_SHARE: Final = 0.002
"""Of one core, for finding out which processes there are."""
_COUNTING_SHARE: Final = 0.003
"""Of one core, for asking each thread how often it was given a CPU."""


class Stat(NamedTuple):
    """Of /proc/PID/stat, what is used here."""

    state: str
    parent: int
    session: int
    threads: int
    rss_bytes: int


def parse_stat(text: bytes) -> Stat:
    """The fields of a stat file; the name, in brackets, may have any character in it."""
    fields = text[text.rindex(b")") + 2 :].split()
    return Stat(fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[17]), int(fields[21]) * _PAGE)


class Paced:
    """Holds what is dear to a share of the time: the longer it took, the later it is done again."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._next_ns = 0

    def due(self) -> bool:
        """Whether it may be done now."""
        return monotonic_ns() >= self._next_ns

    def took(self, begun_ns: int) -> None:
        """Notes that it was begun then, and has been done."""
        now = monotonic_ns()
        self._next_ns = now + round((now - begun_ns) / self._share)


class Process:
    """One process. Its stat file stays open: opening it would take longer than reading it.

    Attributes:
        pid: its number.
    """

    def __init__(self, pid: int) -> None:
        """Raises OSError where it has ended."""
        self.pid = pid
        self._stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        self._cpu_clock = (~pid << 3) | _SCHEDULED
        self._first: dict[str, int] | None = None
        self._last: dict[str, int] = {}
        self._of_ended = 0

    def close(self) -> None:
        """Lets go of its files."""
        os.close(self._stat)

    def stat(self) -> Stat:
        """As it is now. Raises OSError where it has ended."""
        return parse_stat(os.pread(self._stat, 1024, 0))

    def cpu_ns(self) -> int:
        """CPU time that its threads have taken, also those that have ended. Raises OSError where it has ended."""
        return time.clock_gettime_ns(self._cpu_clock)

    def descriptors(self) -> int | None:
        """How many it has open; None where that is not to be seen."""
        folder = f"/proc/{self.pid}/fd"
        try:
            return Path(folder).stat().st_size if _SIZE_TELLS else len(os.listdir(folder))  # noqa: PTH208  # 10,000
        except OSError:
            return None

    def context_switches(self) -> int | None:
        """How often its threads were given a CPU since the first call; None where that is not to be seen."""
        now: dict[str, int] = {}
        try:
            for thread in os.listdir(f"/proc/{self.pid}/task"):  # noqa: PTH208  # Path objects for 200 threads cost
                with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                    now[thread] = _times_scheduled(f"/proc/{self.pid}/task/{thread}/schedstat")
        except (OSError, ValueError):
            return None
        if self._first is None:
            self._first = now
        self._of_ended += sum(self._since_first(thread) for thread in self._last.keys() - now.keys())
        self._last = now
        return self._of_ended + sum(map(self._since_first, now))

    def _since_first(self, thread: str) -> int:
        assert self._first is not None
        return self._last[thread] - self._first.get(thread, 0)


def _times_scheduled(path: str) -> int:
    """The third figure of a schedstat file; Documentation/scheduler/sched-stats.rst."""
    file = os.open(path, os.O_RDONLY)
    try:
        return int(os.read(file, 128).split()[2])
    finally:
        os.close(file)


def descendants(roots: Collection[int]) -> set[int]:
    """These processes, those of their sessions, and all that descend from any of them; zombies are left out."""
    seen: dict[int, Stat] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # the quick way
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123
                seen[int(name)] = parse_stat(file.read(1024))
    found = {pid for pid, stat in seen.items() if pid in roots or stat.session in roots}
    more = found
    while more:
        more = {pid for pid, stat in seen.items() if stat.parent in more} - found
        found |= more
    return {pid for pid in found if seen[pid].state not in "ZX"}


class Use(NamedTuple):
    """What some processes take, all together."""

    cpu_ns: int
    """Since the call before."""
    rss_bytes: int
    threads: int
    descriptors: int | None
    context_switches: int | None
    """Since the beginning; None where not looked at this time."""


class Processes:
    """Some processes, all together; with `tree`, also what descends from them."""

    def __init__(self, roots: Iterable[int], *, tree: bool) -> None:
        self._roots = frozenset(roots)
        self._tree = tree
        self._each: dict[int, Process] = {}
        self._cpu_ns: dict[int, int] = {}
        self._switches: dict[int, int] = {}
        self._finding = Paced(_FINDING_SHARE)
        self._counting = Paced(_COUNTING_SHARE)
        self._find()
        for process in self._each.values():  # what they took until now is not of the run
            with suppress(OSError):
                self._cpu_ns[process.pid] = process.cpu_ns()
        self._context_switches()

    def close(self) -> None:
        """Lets go of their files."""
        for pid in list(self._each):
            self._each.pop(pid).close()

    def look(self, *, all_of_it: bool = False) -> Use | None:
        """What they take now; None where none of them is left. `all_of_it`: whatever that takes."""
        if self._finding.due():
            self._find()
        cpu_ns = rss_bytes = threads = 0
        descriptors: list[int | None] = []
        alive = False
        for process in list(self._each.values()):
            try:
                stat, cpu_now_ns = process.stat(), process.cpu_ns()
            except OSError:
                self._each.pop(process.pid).close()
                continue
            alive = True
            cpu_ns += cpu_now_ns - self._cpu_ns.get(process.pid, 0)
            self._cpu_ns[process.pid] = cpu_now_ns
            rss_bytes += stat.rss_bytes
            threads += stat.threads
            descriptors.append(process.descriptors())
        if not alive:
            return None
        switches = self._context_switches() if all_of_it or self._counting.due() else None
        return Use(cpu_ns, rss_bytes, threads, _sum(descriptors), switches)

    def _find(self) -> None:
        begun = monotonic_ns()
        wanted = descendants(self._roots) if self._tree else self._roots
        for pid in self._each.keys() - wanted:
            self._each.pop(pid).close()
        for pid in wanted - self._each.keys():
            with suppress(OSError):
                self._each[pid] = Process(pid)
        self._finding.took(begun)

    def _context_switches(self) -> int | None:
        begun = monotonic_ns()
        for process in self._each.values():
            if (count := process.context_switches()) is not None:
                self._switches[process.pid] = count
        self._counting.took(begun)
        return sum(self._switches.values()) if self._switches else None


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
