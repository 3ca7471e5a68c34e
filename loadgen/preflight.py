"""Before anything is fired: does it fit this machine?"""

from __future__ import annotations

from typing import Final

from loadgen import kernel
from loadgen.errors import CapacityError
from loadgen.plan import Plan

_RESERVE: Final = 16
"""Descriptors kept for the event loop, the resolver and the files written."""
_UNLIMITED: Final = 65_536


def room() -> int:
    """How many connections fit at once, in descriptors (their limit is raised as far as it goes) and in ports."""
    limit, ports = kernel.raise_descriptor_limit(), kernel.local_ports()
    descriptors = _UNLIMITED if limit is None else limit - kernel.open_descriptors() - _RESERVE
    return max(min(descriptors, _UNLIMITED if ports is None else ports), 1)


def descriptor_room(limit: int) -> int:
    """How many requests at once a limit on descriptors allows."""
    return max(limit - kernel.open_descriptors() - _RESERVE, 0)


def check_capacity(plan: Plan) -> None:
    """Raises the descriptor limit as far as it goes.

    Raises:
        CapacityError: the requests in flight need more descriptors or local ports than there are.
    """
    if plan.scheduler is not None:  # its workers' machines will tell: each by its own outcomes
        return
    needed = -(-plan.workload.concurrency // plan.workers)
    limit = kernel.raise_descriptor_limit()
    if limit is not None:
        room = descriptor_room(limit)
        if needed > room:
            raise CapacityError(
                f"{needed:,} requests at once need as many descriptors, and {room:,} fit here:"
                f" ask for at most that many (-n or -c), or raise the hard limit, now {limit:,} (ulimit -Hn)"
            )
    ports, needed = kernel.local_ports(), plan.workload.concurrency
    if ports is not None and needed > ports:
        raise CapacityError(
            f"{needed:,} requests at once need as many local ports, and {ports:,} fit here:"
            " ask for at most that many (-n or -c), or widen net.ipv4.ip_local_port_range"
        )
