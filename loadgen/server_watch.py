"""What can be seen of a server from its own machine, while a run lasts: accept queue, listen counters, CPU.

Only where the target's address is this machine's. It asks nothing of the server itself. Everything may be missing (no
Linux, another user's processes, a container's walls); then the view says so by None.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Final

from loadgen.address import Address
from loadgen.explain.evidence import KernelRules, ServerView
from loadgen.kernel import sysctl
from loadgen.samples import Recorder
from loadgen.sockdiag import SockDiag, owners

_INTERVAL_S: Final = 0.025
_INTERVAL_MOST_S: Final = 0.25
_NETSTAT: Final = Path("/proc/net/netstat")


def read_kernel_rules() -> KernelRules:
    """This machine's rules for SYNs and accept queues."""
    return KernelRules(
        syn_linear_timeouts=sysctl("net/ipv4/tcp_syn_linear_timeouts") or 0, somaxconn=sysctl("net/core/somaxconn")
    )


def listen_overflows() -> int | None:
    """ListenOverflows of this network namespace since it was made; None where that is not to be read."""
    try:
        lines = [line.split() for line in _NETSTAT.read_text().splitlines() if line.startswith("TcpExt:")]
        return int(dict(zip(*lines[:2], strict=True))["ListenOverflows"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


class ServerWatch:
    """Watches from entering to leaving; then `view` tells. For use in a running event loop."""

    def __init__(self, address: Address, recorder: Recorder) -> None:
        self._port = address.sockaddr[1]
        self._local = address.is_loopback
        self._recorder = recorder
        self._queue: list[tuple[int, int]] = []
        self._limit: int | None = None
        self._processes: list[int] = []
        self._overflows: int | None = None
        self._cpu: tuple[float, float] | None = None
        self._diag: SockDiag | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._interval_s = _INTERVAL_S

    async def __aenter__(self) -> ServerWatch:
        if not self._local:
            return self
        self._loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            self._diag = SockDiag()
            listeners = self._diag.listeners(self._port)
            if listeners:
                self._limit = sum(listener.queue_limit for listener in listeners)
                self._processes = owners({listener.inode for listener in listeners}, but={os.getpid()})
                self._arm()
        self._overflows = listen_overflows()
        self._cpu = self._cpu_times_s()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._diag is not None:
            self._diag.__exit__()
        before, self._overflows = self._overflows, None
        if before is not None and (after := listen_overflows()) is not None:
            self._overflows = after - before
        earlier, self._cpu = self._cpu, None
        if earlier is not None and (later := self._cpu_times_s()) is not None:
            self._cpu = (max(0.0, later[0] - earlier[0]), max(0.0, later[1] - earlier[1]))

    def view(self) -> ServerView:
        """What was seen."""
        release = self._recorder.release_ns
        queue = () if release is None else tuple((at - release, length) for at, length in self._queue if at >= release)
        return ServerView(
            accept_queue_limit=self._limit,
            queue=queue,
            listen_overflows=self._overflows,
            cpu_s=None if self._cpu is None else self._cpu[0],
            cpu_wait_s=None if self._cpu is None else self._cpu[1],
        )

    def _arm(self) -> None:
        self._timer = self._loop.call_later(self._interval_s, self._look)

    def _look(self) -> None:
        assert self._diag is not None
        with contextlib.suppress(OSError):
            listeners = self._diag.listeners(self._port)
            self._queue.append((perf_counter_ns(), sum(listener.queue for listener in listeners)))
        if len(self._queue) % 200 == 0:  # a long run is not looked at as closely
            self._interval_s = min(2 * self._interval_s, _INTERVAL_MOST_S)
        self._arm()

    def _cpu_times_s(self) -> tuple[float, float] | None:
        """CPU time of the server's threads so far, and how long they waited for a CPU; None: not to be seen.

        From schedstat, in ns; Documentation/scheduler/sched-stats.rst.
        """
        if not self._processes:
            return None
        taken_ns = waited_ns = 0
        try:
            for process in self._processes:
                for task in Path(f"/proc/{process}/task").iterdir():
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
                        taken, waited, _ = (task / "schedstat").read_text().split()
                        taken_ns += int(taken)
                        waited_ns += int(waited)
        except (OSError, ValueError):
            return None
        return taken_ns / 1e9, waited_ns / 1e9
