"""Several servers, measured in turns: first run of each, then second of each.

Interleaving gives each profile the same share of whatever else the machine does meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loadgen.lone import send_alone
from loadgen.plan import Plan
from loadgen.resources.watch import Sampler
from loadgen.run import WARMUP, Run
from loadgen.runner import Session
from loadgen.stop import rest
from rig.measured import Measured
from rig.watched import watched
from servers.catalog import Instance
from servers.process import RunningServer, spawn

if TYPE_CHECKING:
    from loadgen.progress import ProgressLine
    from loadgen.run_folder import RunFolder


@dataclass(slots=True)
class _Side:
    measured: Measured
    server: RunningServer
    session: Session
    reported_dead: bool = False

    def hold_against_lone(self) -> None:
        """Where requests shared the CPU, sends some alone and explains the runs anew beside them: by how much, then.

        Sent last, so that nobody's runs are disturbed, and only where something is to be learned from it.
        """
        shared = [run for run in self.measured.runs if any(finding.cause == "cpu-shared" for finding in run.findings)]
        if not shared or not self.server.alive():
            return
        lone = send_alone(self.measured.plan)
        if lone is not None:
            self.measured.runs[:] = [run.explained_beside(lone.response_ns, lone.cpu_s) for run in self.measured.runs]


class Comparison:
    """Servers that stand ready, and the runs at them. A context manager that stops what it started.

    Attributes:
        measured: one entry a profile, in the order given; each fills as `runs` goes on.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        make_plan: Callable[[str], Plan],
        servers: Sequence[RunningServer] = (),
        *,
        resources: bool = False,
        folder: RunFolder | None = None,
    ) -> None:
        """`make_plan` gives the plan for a server's base URL; `servers` are the instances' that are ready already, and
        are left running.

        `resources`: they are looked at while runs last. `folder` gets the logs, and rows too many to be kept.
        """
        self._resources = resources
        self._instances = instances
        self._make_plan = make_plan
        self._servers = servers
        self._folder = folder
        self._stack = ExitStack()
        self._sides: list[_Side] = []
        self.measured: list[Measured] = []

    def __enter__(self) -> Comparison:
        """Starts the servers that are not ready, all at once, and waits until each is.

        Raises:
            servers.errors.StartError: one did not become ready; those that did are stopped by then.
            loadgen.errors.UsageError: the plan does not fit this machine.
        """
        try:
            sampler = self._stack.enter_context(Sampler()) if self._resources else None
            for instance, server in zip(self._instances, self._servers or self._started(), strict=True):
                plan = self._make_plan(server.url)
                measured = Measured(instance, plan)
                take_rows = None if self._folder is None else self._folder.taker(instance.spec)
                session = Session(plan, take_rows=take_rows, sampler=sampler, watched=watched(server))
                self._stack.enter_context(session)
                self._sides.append(_Side(measured, server, session))
                self.measured.append(measured)
        except BaseException:
            self._stack.close()
            raise
        return self

    def _started(self) -> list[RunningServer]:
        servers = [
            self._stack.enter_context(spawn(instance, log_path=self._log_path(number, instance)))
            for number, instance in enumerate(self._instances, 1)
        ]
        return [server.wait_ready() for server in servers]

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def runs(self, *, sequential: bool = False, progress: ProgressLine | None = None) -> Iterator[Run]:
        """Carries the runs out and gives each as it ends, warm-up runs too (which `measured` does not keep).

        `sequential`: all runs of one profile before the next one's. An interrupted run is the last.
        """
        for turn, (number, side) in enumerate(self._order(sequential=sequential)):
            if turn:
                rest(side.measured.plan.pause_s)
            if progress is not None:
                progress.label = side.measured.instance.spec
                side.session.observer = progress
            run = side.session.run(number)
            if number != WARMUP:
                side.measured.runs.append(run)
            yield run
            if run.interrupted:
                return
            side.session.raise_if_stopped()
        for side in self._sides:
            side.hold_against_lone()

    def newly_dead(self) -> Iterator[RunningServer]:
        """The servers that ended by themselves since the last call."""
        for side in self._sides:
            if not side.reported_dead and not side.server.alive():
                side.reported_dead = True
                yield side.server

    def _log_path(self, number: int, instance: Instance) -> Path | None:
        return None if self._folder is None else self._folder.log_path(number, instance.spec)

    def _order(self, *, sequential: bool) -> list[tuple[int, _Side]]:
        plan = self._sides[0].measured.plan
        numbers = [WARMUP] * plan.warmup + list(range(1, plan.runs + 1))
        if sequential:
            return [(number, side) for side in self._sides for number in numbers]
        return [(number, side) for number in numbers for side in self._sides]
