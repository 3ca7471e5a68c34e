"""What an observer has of a simulated run: Evidence, local (all), remote (no server view), or blind (no TCP_INFO)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from loadgen.explain import Evidence, KernelRules, ServerView
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Ints, Samples
from loadgen.watch import ClientUse
from tests.truth.model import NEVER, Floats, Trace

Observer = Literal["local", "remote", "blind"]

CPU_S_PER_REQUEST = 150e-6
_MOST_CORES_FOR_WAITING = 0.4


def observed(
    trace: Trace,
    observer: Observer,
    *,
    use: ClientUse | None = None,
    cpu_s: float | None = None,
    lone_s: float | None = None,
    cpus: int = 2,
) -> Evidence:
    """The evidence. `cpu_s`: what the server took; None for that of a server that only waits."""
    setup = trace.setup
    samples = samples_of(trace, sees_resends=observer != "blind")
    wall_s = float(samples.done.max()) / 1e9
    if cpu_s is None:
        cpu_s = min(CPU_S_PER_REQUEST * setup.requests, _MOST_CORES_FOR_WAITING * wall_s)
    lone_ns = None if lone_s is None else round(lone_s * 1e9)
    server = ServerView(lone_ns=lone_ns)
    if observer == "local":
        server = ServerView(
            accept_queue_limit=setup.backlog,
            queue=tuple((round(at * 1e9), length) for at, length in trace.looks),
            listen_overflows=trace.overflows,
            cpu_s=round(cpu_s, 2),
            lone_ns=lone_ns,
        )
    return Evidence(
        samples=samples,
        concurrency=0 if setup.arrivals_s is not None else setup.concurrency,
        is_open=setup.arrivals_s is not None,
        use=use or ClientUse(12.0, 0.8, 2.0),
        kernel=KernelRules(syn_linear_timeouts=setup.linear_timeouts, somaxconn=4096),
        server=server,
        cpus=cpus,
    )


def samples_of(trace: Trace, *, sees_resends: bool) -> Samples:
    """The rows as a client would have written them."""
    begun, connected, done = (_ns(trace.column(name)) for name in ("begun", "connected", "done"))
    connected[connected > done] = MISSING  # given up while connecting
    status = trace.column("status").astype(np.int16)
    timed_out = np.array([request.timed_out for request in trace.requests])
    reused = np.array([request.reused for request in trace.requests])
    outcome = np.full(len(begun), Outcome.OK, dtype=np.int8)
    outcome[status == 429] = Outcome.HTTP_4XX
    outcome[status == 503] = Outcome.HTTP_5XX
    outcome[status == 0] = Outcome.RESET
    outcome[timed_out] = np.where((connected == MISSING) & ~reused, Outcome.CONNECT_TIMEOUT, Outcome.TIMEOUT)[timed_out]
    answered = ~timed_out & (status > 0)
    resent = trace.column("resent").astype(np.int16)
    return Samples(
        due=begun,
        begun=begun,
        connected=connected,
        first_byte=np.where(answered, done, MISSING),
        done=done,
        bytes_in=np.where(answered, 160, 0),
        status=np.where(answered, status, MISSING).astype(np.int16),
        outcome=outcome,
        reused=reused.astype(np.int8),
        resent=resent if sees_resends else np.full_like(resent, MISSING),
        target=np.zeros(len(begun), dtype=np.int16),
    )


def _ns(seconds: Floats) -> Ints:
    return np.where(seconds < NEVER, np.round(np.minimum(seconds, 1e9) * 1e9), MISSING).astype(np.int64)
