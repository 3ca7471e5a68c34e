"""A burst at a server whose limit is known: does this machine release it quickly, and measure it right?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

REQUESTS: Final = 1000
LIMIT: Final = 500
MOST_RELEASE_MS: Final = 20

_SERVER: Final = f"calibrated:limit={LIMIT},service_ms=500"
_BURSTS: Final = 3
"""At most: the first may find caches cold, and any one of them the machine busy."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One burst of REQUESTS at a server that works on LIMIT of them.

    Attributes:
        ok: how many were answered.
        release_ms: first to last request begun.
        limit: the concurrency limit that was found; None where none was.
        trusted: whether the generator found itself quick enough.
    """

    ok: int
    release_ms: float
    limit: int | None
    trusted: bool

    @property
    def right(self) -> bool:
        """Whether it says of the server what is true."""
        return self.trusted and self.limit == LIMIT

    @property
    def passes(self) -> bool:
        """Whether nothing better is to be had from another burst."""
        return self.right and self.ok == REQUESTS and self.release_ms <= MOST_RELEASE_MS


def trials() -> Iterator[Trial]:
    """Bursts until one passes, or enough of them.

    Raises:
        KeyboardInterrupt: one was interrupted.
        servers.errors.StartError: the server did not start.
    """
    from loadgen.plan import Plan, Target, Workload
    from loadgen.run import Run
    from loadgen.runner import Session
    from servers.catalog import parse_spec
    from servers.process import start

    def tried(run: Run) -> Trial:
        limits = [finding.details["limit"] for finding in run.findings if finding.cause == "concurrency-limit"]
        release_ns = run.summary.release_ns or 0
        return Trial(run.summary.ok, release_ns / 1e6, next(iter(limits), None), run.trusted)

    with start(parse_spec(_SERVER)) as server:
        plan = Plan(Target.parse(f"{server.url}/sleep"), Workload(REQUESTS, REQUESTS), runs=_BURSTS)
        with Session(plan) as session:
            for run in session.runs():
                if run.interrupted:
                    raise KeyboardInterrupt
                trial = tried(run)
                yield trial
                if trial.passes:
                    return
