"""Where it was measured, as a run folder keeps it: all that a figure may depend on, and nothing of who measured."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from loadgen import machine
from loadgen.kernel import sysctl
from loadgen.render.document import environment_data

_LIBRARIES: Final = (
    "aiohttp", "gevent", "granian", "gunicorn", "h2", "httptools", "httpx", "numpy", "starlette", "uvicorn", "uvloop",
    "waitress",
)  # fmt: skip
"""What engines and servers are made of."""

_SETTINGS: Final = (
    "net/core/somaxconn",
    "net/ipv4/tcp_syn_linear_timeouts",
    "net/ipv4/tcp_syn_retries",
    "net/ipv4/tcp_abort_on_overflow",
    "net/ipv4/tcp_tw_reuse",
    "net/ipv4/tcp_max_syn_backlog",
)


def full_environment() -> dict[str, Any]:
    """The environment now, before a load changes it; a value is None where it is not to be had."""
    soft, hard = machine.descriptor_limits()
    ports = machine.port_range()
    state = machine.git_state()
    available, total = machine.memory()
    return environment_data() | {
        "cpu_model": machine.cpu_model(),
        "cpus_there": os.cpu_count(),
        "governor": machine.governor(),
        "load": machine.load(),
        "memory_bytes": {"available": available, "total": total},
        "container": {"cpu_quota": machine.cpu_quota(), "memory_limit_bytes": machine.memory_limit()},
        "settings": {
            **{name.replace("/", "."): sysctl(name) for name in _SETTINGS},
            "net.ipv4.ip_local_port_range": None if ports is None else [*ports],
            "descriptors": {"soft": soft, "hard": hard},
        },
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "runtimes": {},
        "git": None if state is None else {"commit": state[0], "clean": state[1]},
    }


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
