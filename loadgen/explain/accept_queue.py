"""Cause `accept-queue`: SYNs were dropped because the server's accept queue was full, and were sent again."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadgen.explain.evidence import KernelRules, Mask, count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.rows import SYN_RESENT_NS
from loadgen.explain.words import counted, spoken_s
from loadgen.samples import MISSING


def find(reading: Reading) -> Finding | None:
    """The finding, where connections had to be asked for again."""
    rows = reading.resent
    total = count_of(rows)
    if not total:
        return None
    evidence, server = reading.evidence, reading.evidence.server
    connect = reading.connect_ns
    unanswered = rows & (evidence.samples.connected == MISSING) & (evidence.samples.reused == 0)
    syn = rows & (connect >= SYN_RESENT_NS) | unanswered
    data = rows & ~syn
    late = count_of(rows & evidence.late)
    facts: dict[str, Any] = {
        "syn_resent": count_of(syn),
        "data_resent": count_of(data),
        "never_connected": count_of(unanswered),
        "late": late,
        "seen_by": "TCP_INFO" if evidence.sees_resends else "connect time",
        "waited_too": count_of(rows & reading.waited),
    }
    connected = connect[syn & ~unanswered]
    if len(connected):
        facts["connect_ms"] = [milliseconds(value) for value in (connected.min(), connected.max())]
    if server.listen_overflows is not None:
        facts["listen_overflows"] = server.listen_overflows
    if server.accept_queue_limit is not None:
        facts["accept_queue_limit"] = server.accept_queue_limit
    if server.queue:
        facts["accept_queue_most"] = max(length for _, length in server.queue)
        full = [at for at, length in server.queue if length > (server.accept_queue_limit or length)]
        if full:
            facts["accept_queue_seen_full_ms"] = [milliseconds(full[0]), milliseconds(full[-1])]
    return Finding(
        cause="accept-queue",
        requests=total,
        sentence=f"{_what(reading, syn, data, late)}: {_why(reading)}",
        evidence=facts,
    )


def _what(reading: Reading, syn: Mask, data: Mask, late: int) -> str:
    total = count_of(syn) + count_of(data)
    name = "late request" if late == total else "request"
    if not data.any():
        what = counted(total, f"{name} was a dropped SYN", f"{name}s were dropped SYNs")
        connect = reading.connect_ns[syn]
        in_vain = count_of(connect == MISSING)
        if in_vain == total:
            return f"{what}, sent again in vain"
        after = _resend_moments(connect[connect != MISSING] / 1e9, reading.evidence.kernel)
        return f"{what}, sent again after {after}{f', {in_vain:,} of them in vain' if in_vain else ''}"
    return (
        f"{counted(total, name)} waited for TCP: {count_of(syn):,} SYNs were dropped and sent again after 1 s or more,"
        f" {count_of(data):,} connections came about only when the request was sent again, after 200 ms or more"
    )


def _why(reading: Reading) -> str:
    """The queue that was full, and what to raise; or what the reason may be, where the queue cannot be seen."""
    server, kernel = reading.evidence.server, reading.evidence.kernel
    length = server.accept_queue_limit
    if length is None and not reading.evidence.sees_resends:
        return (
            "the server's accept queue was full, or packets were lost on the way (by the connect times alone: TCP_INFO,"
            " which tells what was sent again, is not to be seen here)."
        )
    if length is None:
        return (
            "the server's accept queue was full, or packets were lost on the way"
            " (ListenOverflows in /proc/net/netstat on the server's machine tells them apart)."
        )
    at_most = kernel.somaxconn is not None and length >= kernel.somaxconn
    raise_what = "raise net.core.somaxconn and the server's backlog" if at_most else "raise the server's backlog"
    return f"the accept queue of {length:,} was full; {raise_what}."


def _resend_moments(connect_s: np.ndarray[tuple[int], np.dtype[np.float64]], kernel: KernelRules) -> str:
    """The kernel's resend moments that the connects ended at: `1 s`, `1 to 3 s`."""
    moments = np.array(kernel.syn_resend_times_s(12))
    nearest = moments[np.abs(connect_s[:, None] - moments[None, :]).argmin(axis=1)]
    first, last = float(nearest.min()), float(nearest.max())
    return spoken_s(first) if first == last else f"{spoken_s(first).removesuffix(' s')} to {spoken_s(last)}"
