"""The machine and the versions that the numbers belong to."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from bench.clients.base import Client
from bench.native import find_compiler

_IDLE_LOAD: Final = 0.5
_LIBRARIES: Final = ("loadrig", "uvloop", "httptools", "numpy", "aiohttp", "httpx")


def describe_machine(peers: tuple[Client, ...]) -> list[tuple[str, str]]:
    """Label and value, to be taken before the measuring: the load average is the machine's own then."""
    return [
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("processor", f"{_cpu_model()}, {len(os.sched_getaffinity(0))} cores"),
        ("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"),
        ("system", f"{platform.system()} {platform.release()}"),
        ("load average before", _load()),
        ("commit", _commit()),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("libraries", ", ".join(f"{name} {_library(name)}" for name in _LIBRARIES)),
        ("C compiler", _first_line([find_compiler() or "cc", "--version"])),
        ("peers found", ", ".join(f"{peer.name} {peer.version()}" for peer in peers) or "none"),
    ]


def _load() -> str:
    load = os.getloadavg()[0]
    return f"{load:.2f} (over a minute)" + ("; not idle: times are too long" if load > _IDLE_LOAD else "")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _commit() -> str:
    if shutil.which("git") is None:
        return "unknown"
    commit = _first_line(["git", "rev-parse", "--short", "HEAD"])
    changed = _first_line(["git", "status", "--porcelain", "--untracked-files=no"])
    return f"{commit}, changed" if commit and changed else commit or "unknown"


def _library(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(missing)"


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0].strip()
