"""How each executor carries tasks out. Making it, submitting, waiting and closing it are all in here.

A carrier takes the work and the number of tasks and gives one Mark a task, in the order of submission. It runs in a
child process of its own (see `child`), so no library loaded here, and no thread left over, is in another's way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from time import perf_counter_ns, sleep
from typing import Any, NamedTuple

from rig.tasks.kinds import Kind
from rig.tasks.work import Work


class Mark(NamedTuple):
    """What became of a task: readings of perf_counter_ns, one clock for all processes of a machine, and its result."""

    due: int
    """Submitted."""
    begun: int
    """A worker began to work on it."""
    done: int
    value: int


Carrier = Callable[[Work, int], list[Mark]]


def carrier_of(kind: Kind) -> Carrier:
    """How an executor of this process carries tasks out."""
    match kind.form:
        case "pool":
            return partial(_through_executor, lambda: ThreadPoolExecutor(kind.workers))
        case "processes":
            return partial(_through_executor, lambda: _process_pool(kind.workers))
        case "interpreters":
            return partial(_through_executor, lambda: _interpreter_pool(kind.workers))
        case "thread-each":
            return _thread_each
        case "asyncio":
            return _asyncio
        case "greenlets":
            return _greenlets
    raise ValueError(f"{kind.form} is not carried out by Python")


def _task(work: Work, task: int, due: int) -> Mark:
    """One task, where a wait holds the thread that waits."""
    begun = perf_counter_ns()
    if work.waits:
        sleep(work.time_s)
    value = work.compute(task)
    return Mark(due, begun, perf_counter_ns(), value)


def _through_executor(make: Callable[[], Executor], work: Work, tasks: int) -> list[Mark]:
    with make() as executor:
        futures = [executor.submit(_task, work, task, perf_counter_ns()) for task in range(tasks)]
        return [future.result() for future in futures]


def _process_pool(workers: int) -> Executor:
    """A pool by fork, the cheapest start: this process has no other thread that a fork could catch holding a lock.

    By spawn where there is no fork, or where it is not safe with the system's own libraries (macOS).
    """
    import multiprocessing

    method = "fork" if sys.platform == "linux" else "spawn"
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context(method))


def _interpreter_pool(workers: int) -> Executor:
    import concurrent.futures

    executor: Callable[[int], Executor] = getattr(concurrent.futures, "InterpreterPoolExecutor")  # noqa: B009  # 3.14
    return executor(workers)


def _thread_each(work: Work, tasks: int) -> list[Mark]:
    import threading

    marks: list[Mark | None] = [None] * tasks

    def carry_out(task: int, due: int) -> None:
        marks[task] = _task(work, task, due)

    threads = []
    for task in range(tasks):
        thread = threading.Thread(target=carry_out, args=(task, perf_counter_ns()))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    return [mark for mark in marks if mark is not None]


def _asyncio(work: Work, tasks: int) -> list[Mark]:
    """On Python's own event loop: what the name says, and what `asyncio.run` gives."""
    import asyncio

    async def carry_out(task: int, due: int) -> Mark:
        begun = perf_counter_ns()
        if work.waits:
            await asyncio.sleep(work.time_s)
        value = work.compute(task)
        return Mark(due, begun, perf_counter_ns(), value)

    async def carry_out_all() -> list[Mark]:
        submitted: list[asyncio.Task[Mark]] = []
        for task in range(tasks):
            coroutine: Coroutine[Any, Any, Mark] = carry_out(task, perf_counter_ns())
            submitted.append(asyncio.create_task(coroutine))
        return [await task for task in submitted]

    return asyncio.run(carry_out_all())


def _greenlets(work: Work, tasks: int) -> list[Mark]:
    """With gevent's own sleep; nothing is monkey-patched."""
    import gevent  # type: ignore[import-untyped]

    def carry_out(task: int, due: int) -> Mark:
        begun = perf_counter_ns()
        if work.waits:
            gevent.sleep(work.time_s)
        value = work.compute(task)
        return Mark(due, begun, perf_counter_ns(), value)

    submitted = [gevent.spawn(carry_out, task, perf_counter_ns()) for task in range(tasks)]
    return [greenlet.get() for greenlet in gevent.joinall(submitted)]
