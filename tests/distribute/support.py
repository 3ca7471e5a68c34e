"""What the tests of shared loads have in common: plans, and the worker processes that there are."""

from __future__ import annotations

import contextlib
from typing import Any

import psutil

from loadgen.plan import Plan, Stage, Target, Workload
from loadgen.run import Run
from loadgen.runner import Session

WORKER_MODULE = "loadgen.distribute.worker"


def plan_at(url: str, requests: int | None = 4, concurrency: int | None = None, **options: Any) -> Plan:
    """A plan; what is no field of Workload goes to the Plan."""
    fields = Workload.__dataclass_fields__
    workload = {name: options.pop(name) for name in list(options) if name in fields}
    at_once = concurrency or requests or 1000
    return Plan(Target.parse(url), Workload(requests, at_once, **{"timeout_s": 20.0} | workload), **options)


def one_run(plan: Plan) -> Run:
    """The plan's first run."""
    with Session(plan) as session:
        return session.run(1)


def rate(per_s: float, for_s: float) -> dict[str, Any]:
    """The fields of an open workload."""
    return {"requests": None, "stages": (Stage(for_s, per_s, per_s),), "is_open": True}


def workers_of(process: psutil.Process) -> list[psutil.Process]:
    """The living worker processes that a process started."""
    found = []
    for child in process.children():
        with contextlib.suppress(psutil.Error):
            if WORKER_MODULE in child.cmdline():
                found.append(child)
    return found
