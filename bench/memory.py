"""What a request costs in memory: two runs that differ in their number of requests alone."""

from __future__ import annotations

import resource
import sys
from typing import Final

from bench.clients.loadgen import console_command
from bench.errors import ReadingError
from bench.figure import Figure, Section, Table, spread, times
from bench.processes import ReferenceServer, run, split_cores
from bench.rounds import interleave
from bench.settings import Settings
from bench.sustained import CONNECTIONS

_SIZES: Final = (100_000, 1_100_000)
_QUICK_SIZES: Final = (20_000, 120_000)
_BOUND_BYTES: Final = 60
_RECORDING: Final = "recording alone"
_COMMAND: Final = "whole command"


def measure_memory(settings: Settings) -> Section:
    """The recording alone, and the whole command, in the same rounds."""
    small, large = _QUICK_SIZES if settings.quick else _SIZES
    commands = {
        _RECORDING: lambda url, n: [sys.executable, "-m", "bench.record", url, str(n), str(CONNECTIONS)],
        _COMMAND: lambda url, n: [console_command("loadgen"), url, "-n", str(n), "-c", str(CONNECTIONS), "--quiet"],
    }
    server_cpus, client_cpus = split_cores() or (None, None)

    def peak_bytes(name: str, n: int) -> int:
        with ReferenceServer(settings.server, cpus=server_cpus) as server:
            finished = run(commands[name](server.url("/"), n), cpus=client_cpus)
        if finished.complaint:
            raise ReadingError(finished.complaint)
        if finished.peak_bytes <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024:
            # A child begins with its parent's peak (Linux counts it before the exec), which would hide its own.
            raise ReadingError("its peak is not above the bench's own")
        return finished.peak_bytes

    def one(name: str) -> float:
        return (peak_bytes(name, large) - peak_bytes(name, small)) / (large - small)

    taken = interleave(settings.rounds, commands, one, what="memory", show=lambda value: f"{value:.1f} bytes a request")
    return Section(
        "Memory",
        f"The largest resident set (wait4) of loadgen at {large:,} requests, less that at {small:,}, over the"
        f" difference; {CONNECTIONS} connections, {times(settings.rounds, 'round')}. Recording alone ends when the last"
        " request has been recorded; the whole command then makes the samples and the summary.",
        figures=[
            Figure(f"memory: {name}", tuple(taken.get(name, ())), "<", _BOUND_BYTES, "bytes a request", 1)
            for name in commands
        ],
        tables=[Table(("what", "bytes a request"), [(name, spread(taken.get(name, []), 1)) for name in commands])],
    )
