"""What an explanation may look at: the rows of a run, and what was seen beside them.

Everything beside the samples may be absent (another machine's server, another platform, a saved file without it); a
cause that misses it says so instead of guessing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loadgen.explain.words import HTTP, Terms
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints, Samples
from loadgen.tally import Tally
from loadgen.watch import ClientUse

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KernelRules:
    """What this machine's kernel does with a SYN that is not answered.

    Source: include/net/tcp.h (TCP_TIMEOUT_INIT 1 s, TCP_RTO_MIN 200 ms), tcp_syn_linear_timeouts in
    Documentation/networking/ip-sysctl.rst: so many resends come at the first interval, later ones double.
    """

    syn_linear_timeouts: int = 0
    somaxconn: int | None = None

    def syn_resend_times_s(self, count: int = 6) -> tuple[float, ...]:
        """When SYNs are sent again, in seconds after the first: 1, 2, 3, 4, 5, 7, 11 with 4 linear time-outs."""
        times, at, step = [], 0.0, 1.0
        for number in range(count):
            at += step
            times.append(at)
            if number >= self.syn_linear_timeouts:
                step *= 2
        return tuple(times)


@dataclass(frozen=True, slots=True)
class ServerView:
    """What was seen of the server from its own machine. Each may be None: not to be seen."""

    accept_queue_limit: int | None = None
    """Length of the listening socket's accept queue: min(backlog, somaxconn)."""
    queue: tuple[tuple[int, int], ...] = ()
    """(ns from the release, connections in the accept queue), sampled during the run."""
    listen_overflows: int | None = None
    """ListenOverflows of this network namespace, after the run less before it."""
    cpu_s: float | None = None
    """CPU time that the server's processes took during the run, in seconds."""
    cpu_wait_s: float | None = None
    """How long its threads were ready to run and waited for a CPU, added up over all of them, in seconds."""
    lone_ns: int | None = None
    """Response time of a request sent alone, before the run or after it."""
    lone_cpu_s: float | None = None
    """CPU time that the server took for one sent alone, in seconds."""
    collections: tuple[tuple[int, int], ...] | None = None
    """Begin and end of its long garbage collections, ns from the release; None: its runtime does not tell."""
    peak_cpu_percent: float | None = None
    """The most CPU that it took, of one core, over a twentieth of a second."""


@dataclass(frozen=True)
class Evidence:
    """One run, as the causes look at it. Arrays have shape (requests,) unless said otherwise."""

    samples: Samples
    concurrency: int
    """How many requests were released together, by users of whom each sends again; 0 where it was not so: an open
    workload, or users who came and went."""
    over_ms: int = 1500
    use: ClientUse = field(default_factory=lambda: ClientUse(0.0, 0.0, 0.0))
    kernel: KernelRules = field(default_factory=KernelRules)
    server: ServerView = field(default_factory=ServerView)
    is_open: bool = False
    """Whether requests came at moments of their own, whatever the answers did."""
    cpus: int = 1
    """CPUs that the generator may use; the server's too, where it is on this machine."""
    started: Ints | None = None
    """ns; when the work on each began, where that was seen itself and need not be inferred."""
    terms: Terms = HTTP
    """What sentences call the two sides."""
    tally: Tally | None = None
    """What was counted of the whole run, where it was too long and `samples` are the last of its rows."""

    @property
    def requests(self) -> int:
        """How many the run had, whether or not their rows were kept."""
        return len(self.samples) if self.tally is None else self.tally.requests

    @cached_property
    def is_burst(self) -> bool:
        """Whether all requests were released at once."""
        return self.concurrency >= len(self.samples)

    @cached_property
    def begun(self) -> Mask:
        """Rows that were begun and have an end."""
        return np.asarray((self.samples.begun != MISSING) & (self.samples.done != MISSING), dtype=np.bool_)

    @cached_property
    def answered(self) -> Mask:
        """Rows whose response is complete, whatever its status."""
        outcome = self.samples.outcome
        statuses = (Outcome.OK, Outcome.HTTP_4XX, Outcome.HTTP_5XX)
        return np.asarray(np.isin(outcome, statuses), dtype=np.bool_)

    @cached_property
    def late(self) -> Mask:
        """Rows whose response time is over the threshold."""
        mask: Mask = self.samples.response_ns > self.over_ms * 1_000_000
        return mask

    @cached_property
    def sees_resends(self) -> bool:
        """Whether the platform tells which connections retransmitted."""
        return bool((self.samples.resent[self.begun] != MISSING).any())


def count_of(mask: NDArray[Any]) -> int:
    """How many rows a mask holds."""
    return int(np.count_nonzero(mask))


def milliseconds(ns: float) -> float:
    """ns as ms, to the microsecond."""
    return round(float(ns) / 1e6, 3)


__all__ = ["Evidence", "Ints", "KernelRules", "Mask", "ServerView", "count_of", "milliseconds"]
