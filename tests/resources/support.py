"""What the tests of the resources share: a run at a real server that is looked at."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from loadgen.plan import Plan, Target, Workload
from loadgen.resources.seen import CLIENT, SERVER, Look, Resources
from loadgen.resources.watch import Sampler
from loadgen.run import Run
from loadgen.runner import Session
from rig.watched import watched
from servers.process import RunningServer, start
from tests.servers.support import runnable


@contextlib.contextmanager
def looked_at(spec: str) -> Iterator[tuple[RunningServer, Sampler]]:
    """A server that runs, and the process that looks."""
    with start(runnable(spec)) as server, Sampler() as sampler:
        yield server, sampler


def burst(server: RunningServer, sampler: Sampler, path: str, requests: int) -> Run:
    """One burst at it."""
    plan = Plan(Target.parse(f"{server.url}{path}"), Workload(requests, requests))
    with Session(plan, sampler=sampler, watched=watched(server)) as session:
        run = session.run(1)
    assert run.summary.ok == requests, run.summary.failures
    return run


def seen(run: Run) -> Resources:
    """What was seen, which must be something."""
    assert run.resources is not None
    return run.resources


def server_looks(resources: Resources) -> list[Look]:
    return [look for look in resources.looks if look.side == SERVER]


def client_looks(resources: Resources) -> list[Look]:
    return [look for look in resources.looks if look.side == CLIENT]
