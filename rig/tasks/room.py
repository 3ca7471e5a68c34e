"""Does it fit this machine? The limits that a number of threads meets, found out before any is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadgen.errors import CapacityError

_PROC: Final = Path("/proc")
_CGROUP: Final = Path("/sys/fs/cgroup")
_RESERVE: Final = 200
"""Threads and mappings that are left to others."""
_MAPS_A_THREAD: Final = 2
"""Its stack and the guard page below (pthread_create(3), mmap in glibc's allocatestack.c)."""
_BYTES_A_THREAD: Final = 64 * 1024
"""Resident: what a Python thread touches of its stack and its allocator's arena, and its stack in the kernel."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and how many more threads it leaves room for."""

    name: str
    room: int


def check_room(what: str, threads: int) -> None:
    """Checks that so many threads can exist at once.

    Raises:
        CapacityError: they cannot; the message names the tightest limit.
    """
    tightest = min(limits(), key=lambda limit: limit.room, default=None)
    if tightest is not None and threads > tightest.room:
        raise CapacityError(
            f"{what} needs {threads:,} threads at once, and {max(tightest.room, 0):,} fit here: the limit is"
            f" {tightest.name}; ask for fewer"
        )


def limits() -> Iterator[Limit]:
    """Every limit on threads that this machine tells."""
    yield from _of_user()
    if sys.platform == "linux":
        yield from _of_kernel()
        yield from _of_cgroup()
    import psutil

    available = psutil.virtual_memory().available
    yield Limit(f"memory, {available / 2**20:,.0f} MB free", available // _BYTES_A_THREAD)


def _of_user() -> Iterator[Limit]:
    try:
        import resource
    except ImportError:
        return
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if most != resource.RLIM_INFINITY and os.geteuid() != 0:  # root is not held to it
        yield Limit(f"RLIMIT_NPROC, {most:,} (ulimit -u)", most - _threads_of_user() - _RESERVE)
    address = resource.getrlimit(resource.RLIMIT_AS)[0]
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if resource.RLIM_INFINITY not in (address, stack):
        yield Limit(f"RLIMIT_AS, {address / 2**20:,.0f} MB (ulimit -v)", address // stack)


def _threads_of_user() -> int:
    import psutil

    own = os.getuid()
    found = psutil.process_iter(["uids", "num_threads"])
    return sum(
        process.info["num_threads"] or 0
        for process in found
        if process.info["uids"] and process.info["uids"].real == own
    )


def _of_kernel() -> Iterator[Limit]:
    running = _PROC / "loadavg"
    there = int(running.read_text().split()[3].partition("/")[2])
    for name, path in (("kernel.threads-max", "kernel/threads-max"), ("kernel.pid_max", "kernel/pid_max")):
        most = _number(_PROC / "sys" / path)
        if most is not None:
            yield Limit(f"{name}, {most:,}", most - there - _RESERVE)
    maps = _number(_PROC / "sys/vm/max_map_count")
    if maps is not None:
        yield Limit(f"vm.max_map_count, {maps:,}", maps // _MAPS_A_THREAD - _RESERVE)


def _of_cgroup() -> Iterator[Limit]:
    """pids.max of this process's control group and of those above it, in both versions (cgroups(7))."""
    for line in (_PROC / "self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "pids"):
            continue
        folder = _CGROUP / controllers
        own = folder / path.lstrip("/")
        for group in (own, *own.parents):
            most, now = _number(group / "pids.max"), _number(group / "pids.current")
            if most is not None and now is not None:
                yield Limit(f"the control group's pids.max, {most:,}", most - now)
            if group == folder:
                break


def _number(path: Path) -> int | None:
    """The number in a file; None where there is no such file, or another word in it."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
