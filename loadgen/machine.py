"""Facts about this machine that `loadgen.kernel` has no use for. Each is None where it is not to be had."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from time import perf_counter_ns
from typing import Final

CGROUPS: Final = Path("/sys/fs/cgroup")
OWN_CGROUPS: Final = Path("/proc/self/cgroup")

_CLOCK_STEPS: Final = 100
_CPU_INFO: Final = Path("/proc/cpuinfo")
_GOVERNOR: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_PORT_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_GIT_TIMEOUT_S: Final = 5.0


def library_version(name: str) -> str:
    """The version of a library that can be imported.

    Raises:
        Exception: whatever importing it raises.
    """
    import_module(name)
    return version(name)


def descriptor_limits() -> tuple[int | None, int | None]:
    """The soft and the hard limit; None for no limit."""
    import resource

    soft, hard = (
        None if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    return soft, hard


def port_range() -> tuple[int, int] | None:
    """The first and the last local port that the kernel gives to clients."""
    with contextlib.suppress(OSError, ValueError):
        low, high = map(int, _PORT_RANGE.read_text().split())
        return low, high
    return None


def load() -> float | None:
    """Processes that ran or waited for a CPU, on average over the last minute."""
    with contextlib.suppress(OSError):
        return os.getloadavg()[0]
    return None


def memory() -> tuple[int, int]:
    """Bytes that can be had without swapping, and bytes in all, within the control group's limit."""
    import psutil

    there = psutil.virtual_memory()
    limit = memory_limit()
    total = there.total if limit is None else min(there.total, limit)
    return min(there.available, total), total


def memory_limit(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int | None:
    """Bytes that the control group of this process gets; None for any."""
    limit = min(_limits("memory", _memory_limit, cgroups, own), default=None)
    # Version 1 says that there is none by a number close to 2**63.
    return None if limit is None or limit >= 2**60 else int(limit)


def cpu_quota(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> float | None:
    """How many CPUs' time the control group of this process gets; None for any."""
    return min(_limits("cpu", _cpu_quota, cgroups, own), default=None)


def loopback_ipv6() -> bool:
    """Whether ::1 can be listened on."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def clock_step_ns() -> int:
    """The smallest step that the clock takes between two readings."""
    return min(map(_step_ns, range(_CLOCK_STEPS)))


def cpu_model() -> str | None:
    """The CPU's name, as the kernel has it."""
    with contextlib.suppress(OSError):
        found = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", _CPU_INFO.read_text(), re.MULTILINE)
        return None if found is None else found[1].strip()
    return None


def governor() -> str | None:
    """How the kernel chooses the CPU's frequency."""
    with contextlib.suppress(OSError):
        return _GOVERNOR.read_text().strip()
    return None


def git_state() -> tuple[str, bool] | None:
    """The commit of the folder that this process is in, and whether all files that git knows are as in it."""
    commit = _git("rev-parse", "--verify", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return None if commit is None or changes is None else (commit, not changes)


def _git(*arguments: str) -> str | None:
    """What git says; None where it is not here, or has nothing to say."""
    try:
        said = subprocess.run(
            ["git", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_GIT_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.decode(errors="replace").strip()


def _step_ns(_: int) -> int:
    begun = perf_counter_ns()
    while (now := perf_counter_ns()) == begun:
        pass
    return now - begun


def _limits(controller: str, read: Callable[[Path], float], cgroups: Path, own: Path) -> Iterator[float]:
    """What limits the control group of this process, and what those around it.

    Version 2 has one tree for all controllers, version 1 one for each; cgroups(7). In a container the group's own path
    may not be visible: what is mounted is the container's.
    """
    lines = []
    with contextlib.suppress(OSError):
        lines = own.read_text().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = cgroups / controllers
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                # Without limit there is no such file, or a word in the number's place.
                with contextlib.suppress(OSError, ValueError):
                    yield read(folder)


def _cpu_quota(group: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        quota, period = (group / "cpu.max").read_text().split()
        return int(quota) / int(period)
    quota_us = int((group / "cpu.cfs_quota_us").read_text())
    if quota_us < 0:
        raise ValueError(quota_us)
    return quota_us / int((group / "cpu.cfs_period_us").read_text())


def _memory_limit(group: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return int((group / "memory.max").read_text())
    return int((group / "memory.limit_in_bytes").read_text())
