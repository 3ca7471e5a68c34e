"""Runs an engine against a URL, as the runner would, and checks what holds for every run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import uvloop

from loadgen.address import Address, resolve
from loadgen.engines import Job, load_engine
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Target, Workload
from loadgen.samples import MISSING, Block, Recorder, Samples
from loadgen.schedule import make_schedule

MOST_IN_FLIGHT = 64
"""Of a workload whose requests nobody counts, where a test says nothing else."""

PATIENCE_S = 60.0
"""No run of these tests takes as long; one that does has hung."""

_TARGET_FIELDS = {field.name for field in fields(Target)}


def fire(
    engine: str,
    url: str,
    n: int | None = 1,
    concurrency: int | None = None,
    *,
    address: Address | None = None,
    http2: bool = False,
    server_timing: bool = False,
    cancel_after: Callable[[], None] | None = None,
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop,
    fold: Callable[[Block], None] | None = None,
    **options: Any,
) -> Samples:
    """The samples of one run. `options` are fields of Target and Workload; `cancel_after` blocks until it is time.

    Without `n`, `stages` say how much, and `concurrency` is the bound on what is in flight.
    """
    target = Target.parse(url, **{name: value for name, value in options.items() if name in _TARGET_FIELDS})
    workload = Workload(
        requests=n,
        concurrency=concurrency or n or MOST_IN_FLIGHT,
        **{"timeout_s": 10.0} | {name: value for name, value in options.items() if name not in _TARGET_FIELDS},
    )
    plan = Plan(target, workload, engine=engine, http2=http2, server_timing=server_timing)
    schedule = make_schedule(workload)
    rows = schedule.released if n is None else n
    recorder = Recorder(rows, has_due_times=schedule.arrivals is not None, fold=fold)
    job = Job(plan, address or resolve(target), schedule, recorder)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_run(job, cancel_after))
    samples = job.recorder.samples()
    check(samples)
    return samples


async def _run(job: Job, cancel_after: Callable[[], None] | None) -> None:
    trouble: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: trouble.append(context))
    run = asyncio.create_task(load_engine(job.plan.engine).run(job))
    if cancel_after is not None:
        await asyncio.to_thread(cancel_after)
        run.cancel()
    done, _ = await asyncio.wait([run], timeout=PATIENCE_S)
    assert done, "the run has hung"
    if cancel_after is None:
        run.result()
    else:
        assert run.cancelled()
    assert not trouble


def check(samples: Samples) -> None:
    """What holds for the rows of any run."""
    begun = samples.begun != MISSING
    assert (samples.due[begun] >= 0).all()
    assert (samples.due[begun] <= samples.begun[begun]).all()
    last = samples.begun.copy()
    for column in (samples.connected, samples.first_byte, samples.done):
        reached = column != MISSING
        assert (column[reached] >= last[reached]).all()
        last = np.where(reached, column, last)
    assert (samples.done[begun] != MISSING).all()
    assert ((samples.outcome >= 0) & (samples.outcome <= max(Outcome))).all()
    assert (samples.status[samples.ok] != MISSING).all()
    assert (samples.first_byte[samples.ok] != MISSING).all()
    assert (samples.bytes_in[samples.ok] > 0).all()
    assert ((samples.connected == MISSING) | (samples.reused == 0)).all()
    assert ((samples.connected != MISSING) | (samples.reused == 1))[samples.ok].all()
    assert (samples.resent >= MISSING).all()


def outcomes(samples: Samples) -> dict[str, int]:
    """How many rows have each outcome, by label."""
    numbers, counts = np.unique(samples.outcome, return_counts=True)
    return {Outcome(number).label: int(count) for number, count in zip(numbers, counts, strict=True)}
