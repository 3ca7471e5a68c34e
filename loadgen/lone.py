"""What a request takes that is sent alone: what runs are held against in which many shared the server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from loadgen.plan import Plan
from loadgen.runner import Session
from loadgen.summary import NS_PER_S

_MOST: Final = 5
_ENOUGH_NS: Final = NS_PER_S
"""Of response times in all: long ones vary by little, and need not be sent again."""


@dataclass(frozen=True, slots=True)
class Lone:
    """Of a few requests, each sent alone."""

    response_ns: int
    """The shortest: what made others longer was a cold connection, or another process."""
    cpu_s: float | None
    """CPU time that the server took for each, in seconds; None where that could not be seen."""


def send_alone(plan: Plan) -> Lone | None:
    """Sends a plan's request alone, up to five times, while that takes no longer than about a second.

    None where one of them failed, or the session was interrupted: there is nothing to hold runs against then.
    """
    alone = replace(plan, runs=1, workers=1, workload=plan.workload.lone())
    responses: list[int] = []
    cpus: list[float | None] = []
    with Session(alone) as session:
        while len(responses) < _MOST and sum(responses) < _ENOUGH_NS:
            run = session.run(len(responses) + 1)
            if run.interrupted or run.summary.times is None:
                return None
            responses.append(run.summary.times.p50_ns)
            cpus.append(run.evidence.server.cpu_s)
    known = [cpu_s for cpu_s in cpus if cpu_s is not None]
    return Lone(min(responses), sum(known) / len(known) if known else None)
