"""`python -m bench.record URL N C`: a run of the wire engine that ends with the recording, for the memory it takes."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from loadgen.address import resolve
from loadgen.engines import Job, load_engine
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Target, Workload
from loadgen.samples import Recorder
from loadgen.schedule import make_schedule


def main(url: str, requests: int, connections: int) -> int:
    """Carries the run out and returns the exit code: 1 where any request failed."""
    plan = Plan(Target.parse(url), Workload(requests, connections))
    recorder = Recorder(requests)
    job = Job(plan, resolve(plan.target), make_schedule(plan.workload), recorder)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(load_engine(plan.engine).run(job))
    return 0 if recorder.outcome.count(Outcome.OK) == requests else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
