"""What the server's CPU did during a run, as far as its machine tells: whether it was all used, and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from loadgen.explain.evidence import count_of
from loadgen.explain.rows import Rows

SATURATED: Final = 0.5
"""CPU seconds a second. One core's worth is all that one interpreter lock, or one event loop, can use, and on a busy
machine it does not get all of that. Waiting takes far less."""
SATURATED_BUSY: Final = 0.35
"""The same where its threads also stood waiting for a CPU: WANTED in all."""
WANTED: Final = 0.9
COMPUTES_PART: Final = 0.25
UNUSED: Final = 0.8
"""Of the CPUs; a server that used more of them had them for itself."""
DEPRIVED_PART: Final = 0.25
"""Of the run; for so long its threads stood waiting for a CPU, added up."""


@dataclass(frozen=True)
class Cpu(Rows):
    """A run's requests, and the CPU time that went with them."""

    @cached_property
    def server_cores(self) -> float | None:
        """CPU seconds a second that the server took; None where that could not be seen or the run was too short."""
        cpu_s = self.evidence.server.cpu_s
        if cpu_s is None or self.wall_s < 0.1:  # CPU time may be counted in hundredths of a second
            return None
        return cpu_s / self.wall_s

    @property
    def wall_s(self) -> float:
        """From the release to the last completion; 0 where nothing ended."""
        return max(0.0, float(self.evidence.samples.done.max(initial=0)) / 1e9)

    @property
    def is_saturated(self) -> bool:
        """Whether the server's CPU was all used, or all that others on its machine left of it."""
        cores = self.server_cores
        if cores is None:
            return False
        return cores >= SATURATED or (cores >= SATURATED_BUSY and self.wants_cpu) or self.computes

    @property
    def wants_cpu(self) -> bool:
        """Whether it used a CPU, or stood ready for one, all the time; threads that wake up together do so too."""
        cores, wait_s = self.server_cores, self.evidence.server.cpu_wait_s
        return cores is not None and cores + (wait_s or 0.0) / self.wall_s >= WANTED

    @property
    def is_deprived(self) -> bool:
        """Whether its threads stood ready to run for long while there was a CPU that it did not use: others did."""
        cores, wait_s = self.server_cores, self.evidence.server.cpu_wait_s
        if cores is None or wait_s is None:
            return False
        return cores < UNUSED * self.evidence.cpus and wait_s >= DEPRIVED_PART * self.wall_s

    @property
    def waits_alone(self) -> bool:
        """Whether a request sent alone was seen to take little CPU time: it waits, and does not compute."""
        server = self.evidence.server
        if server.lone_cpu_s is None or not server.lone_ns:
            return False
        return server.lone_cpu_s < COMPUTES_PART * server.lone_ns / 1e9

    @cached_property
    def computes(self) -> bool:
        """Whether a good part of what a request lasts when sent alone is CPU time: it computes, and does not wait."""
        server, served = self.evidence.server, count_of(self.served)
        if server.cpu_s is None or not server.lone_ns or not served:
            return False
        if server.lone_cpu_s is not None:
            return not self.waits_alone
        return server.cpu_s / served >= COMPUTES_PART * server.lone_ns / 1e9
