"""Plan -> Engine -> Samples: warm-up, runs, interruption."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Final

from loadgen.address import Address, choose, lookup
from loadgen.carrying import collect_young, loop_factory, no_garbage_collection
from loadgen.distribute.crew import make_crew
from loadgen.distribute.engine import ShardedEngine
from loadgen.engines import Job, load_engine
from loadgen.errors import CapacityError, UsageError
from loadgen.explain import Evidence, explain
from loadgen.explain.evidence import ServerView
from loadgen.keeper import Keeper
from loadgen.kernel import available_cpus
from loadgen.observer import Observer
from loadgen.outcome import Outcome
from loadgen.plan import Plan
from loadgen.preflight import check_capacity
from loadgen.request import Requests
from loadgen.resources.watch import Sampler, Watched
from loadgen.run import WARMUP, Run, TakeRows
from loadgen.samples import Recorder
from loadgen.schedule import Schedule, make_schedule
from loadgen.server_watch import ServerWatch, read_kernel_rules
from loadgen.stop import Stop, rest
from loadgen.summary import summarize
from loadgen.tally import Tally, seconds_of
from loadgen.watch import ClientUse, Watch

_TICK_S: Final = 0.25


class Session:
    """Carries out the runs of one plan, one at a time, on an event loop of its own. A context manager."""

    def __init__(
        self,
        plan: Plan,
        *,
        observer: Observer | None = None,
        take_rows: TakeRows | None = None,
        sampler: Sampler | None = None,
        watched: Watched | None = None,
    ) -> None:
        """Checks that the machine has room for the plan.

        `take_rows` gets the rows of a run that is too long for them to be kept, a few thousand at a time, while it
        lasts; it is called in a thread. `sampler` looks at the resources of the generator and of the server, which is
        `watched`, or where that is not said who listens at a target on this machine.

        Raises:
            CapacityError: it has not.
        """
        check_capacity(plan)
        self.plan = plan
        self.observer = observer
        self.take_rows = take_rows
        self._sampler = sampler
        self._watched = watched or Watched()
        self._crew = make_crew(plan)
        self._shards = None if self._crew is None else ShardedEngine(self._crew)
        self._engine = self._shards or load_engine(plan.engine)
        self._kernel = read_kernel_rules()
        self._stop = Stop()

    def __enter__(self) -> Session:
        """Makes ready.

        Raises:
            UsageError: the workers that the plan asks for cannot be had.
        """
        with ExitStack() as stack:
            self._loop_runner = stack.enter_context(asyncio.Runner(loop_factory=loop_factory()))
            if self._crew is not None:
                stack.enter_context(self._crew)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run(self, number: int) -> Run:
        """Carries out one run.

        Raises:
            UsageError: the target has a public address, and the plan does not allow that.
            CapacityError: there is no memory for so many rows.
        """
        plan = self.plan
        schedule = make_schedule(plan.workload)
        keeper = self._keeper(number, schedule)
        recorder = _recorder(schedule, keeper, has_targets=bool(plan.mix))
        if self.observer is not None:
            self.observer.begin(number, recorder)
        use, view, resources, interrupted = ClientUse(0.0, 0.0, 0.0), ServerView(), None, False
        try:
            addresses = lookup(plan.target)
        except socket.gaierror:
            addresses = []
        for address in addresses:  # before `choose`, which connects
            _guard(address, plan)
        with self._stop.notes_signals(self._loop_runner.get_loop()), no_garbage_collection():
            if addresses:
                address = choose(addresses)
                where = str(address)
                job = Job(plan, address, schedule, recorder)
                self._begin_looking(address)
                use, view, interrupted = self._loop_runner.run(self._carry_out(job))
                if self._sampler is not None:
                    resources = self._sampler.end(recorder.release_ns)
                    view = view if resources is None else resources.beside(view)
            else:
                _fail_all(recorder, Outcome.DNS, Requests(plan))
                where = plan.target.host
            run = self._measured(number, where, recorder, keeper, use, view, interrupted=interrupted)
            return replace(run, resources=resources)

    def _begin_looking(self, address: Address) -> None:
        if self._sampler is not None:
            generator = [os.getpid(), *(() if self._crew is None else self._crew.pids)]
            self._sampler.begin(self._watched if address.is_loopback else None, address.sockaddr[1], generator)

    def _keeper(self, number: int, schedule: Schedule) -> Keeper:
        plan = self.plan
        tally = Tally(over_ms=plan.over_ms, is_open=plan.workload.is_open, targets=len(plan.mix))
        take = None if self.take_rows is None or number == WARMUP else partial(self.take_rows, number)
        return Keeper(tally, schedule.released, take)

    def _measured(
        self,
        number: int,
        where: str,
        recorder: Recorder,
        keeper: Keeper,
        use: ClientUse,
        view: ServerView,
        *,
        interrupted: bool,
    ) -> Run:
        """What follows from the rows, all of them or those that were kept."""
        plan, workload = self.plan, self.plan.workload
        users = 0 if workload.is_open else workload.concurrency
        together = users if workload.is_steady else 0
        tally = None
        if recorder.folded:
            recorder.fold_rest()
            kept = keeper.close()
            samples, tally, together = kept.last, kept.tally, 0
            summary = tally.summary(concurrency=users, release_ns=kept.release_ns)
        else:
            samples = recorder.samples()
            summary = summarize(
                samples, concurrency=users, over_ms=plan.over_ms, is_open=workload.is_open, targets=len(plan.mix)
            )
            if workload.duration_s is not None:
                summary = replace(summary, seconds=seconds_of(samples))
        evidence = Evidence(
            samples=samples,
            concurrency=together,
            over_ms=plan.over_ms,
            use=use,
            kernel=self._kernel,
            server=view,
            cpus=available_cpus(),
            tally=tally,
            is_open=workload.is_open and tally is None,  # the last rows alone do not tell what came before
        )
        skew = None if self._shards is None else self._shards.skew
        return Run(number, where, evidence, summary, explain(evidence), interrupted, skew)

    @property
    def is_stopped(self) -> bool:
        """Whether a signal came during a run, or as it was being looked at."""
        return self._stop.noted

    def raise_if_stopped(self) -> None:
        """To be called when a run has been taken care of.

        Raises:
            KeyboardInterrupt: a signal came when the run had ended and was not yet in the caller's hands.
        """
        self._stop.raise_if_noted()

    async def _carry_out(self, job: Job) -> tuple[ClientUse, ServerView, bool]:
        async with Watch() as watch, ServerWatch(job.address, job.recorder) as server:
            task = asyncio.ensure_future(self._engine.run(job))
            beside = [asyncio.ensure_future(self._tick())]
            if job.plan.workload.duration_s is not None:
                beside.append(asyncio.ensure_future(collect_young()))
            try:
                interrupted = await self._stop.ends(task)
            finally:
                for other in beside:
                    other.cancel()
        use = watch.use if self._shards is None else self._shards.use
        return use, server.view(), interrupted

    async def _tick(self) -> None:
        while self.observer is not None:
            self.observer.tick()
            await asyncio.sleep(_TICK_S)

    def runs(self) -> Iterator[Run]:
        """The warm-up runs and then the counted ones, as each ends; one that was interrupted is the last."""
        for turn in range(self.plan.warmup + self.plan.runs):
            if turn and self.plan.pause_s:
                rest(self.plan.pause_s)
            run = self.run(max(WARMUP, turn - self.plan.warmup + 1))
            yield run
            if run.interrupted:
                return
            self.raise_if_stopped()


def _recorder(schedule: Schedule, keeper: Keeper, *, has_targets: bool) -> Recorder:
    """Rows for the requests of a schedule, as far as their number is known; else too many go to the keeper."""
    known = schedule.known_requests
    try:
        fold = keeper.take if schedule.requests is None else None
        return Recorder(known, has_due_times=schedule.arrivals is not None, has_targets=has_targets, fold=fold)
    except (MemoryError, OverflowError):
        raise CapacityError(f"the rows of {known:,} requests do not fit in memory: ask for fewer (-n)") from None


def _guard(address: Address, plan: Plan) -> None:
    if address.is_public and not plan.allow_remote:
        raise UsageError(
            f"{plan.target.host} is at {address.ip}, a public address: its owner must have agreed to a load test,"
            " and others share its limits; add --allow-remote if that is so"
        )


def _fail_all(recorder: Recorder, outcome: Outcome, requests: Requests) -> None:
    """Ends every request at once: none could begin."""
    now = recorder.release()
    for index in range(len(recorder.due)):
        recorder.due[index] = recorder.begun[index] = recorder.done[index] = now
        recorder.target[index], _ = requests.take()
        recorder.outcome[index] = outcome
