"""A load carried out: requests at each entry's server, in turns, as `rig compare` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadgen.plan import Plan, Target, Workload
from loadgen.preflight import check_capacity
from loadgen.render.document import plan_data
from rig.compare import Comparison
from rig.measured import Measured
from rig.render import blocks, profiles_data
from rig.scenario.judge import Seen
from rig.scenario.outcome import Row, row_of
from rig.scenario.own_figures import own_figures_words
from rig.scenario.resent import late_requests, resent_table
from rig.turns import carry_out
from scenarios.scenario import Entry, Load
from scenarios.theory import Prediction, predict
from servers.catalog import Instance
from servers.process import RunningServer

if TYPE_CHECKING:
    from loadgen.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """A load as far as it was carried out. See `Outcome`."""

    step: Load
    sides: Sequence[Measured]
    """One an entry of the step, in that order."""
    interrupted: bool

    @property
    def measured(self) -> bool:
        """See `Outcome`."""
        return any(run.summary.ok for side in self.sides for run in side.runs)

    def lines(self, *, quiet: bool) -> Iterator[str]:
        """See `Outcome`."""
        begun = [side for side in self.sides if side.runs]
        yield from blocks(begun, quiet=quiet)
        if begun and self.step.shows_resent:
            yield from resent_table(self.sides, self.step.over_ms)
            yield ""

    def rows(self) -> Iterator[Row]:
        """See `Outcome`."""
        for entry, side in zip(self.step.entries, self.sides, strict=True):
            runs = seen_runs(side)
            if runs or not self.interrupted:
                row = row_of(self.step, entry, prediction_of(self.step, entry, side.instance), runs)
                # Apart from whether the generator can be trusted: these times are not its own.
                own = own_figures_words([run for run in side.runs if not run.interrupted])
                yield replace(row, sentence="; ".join(filter(None, (row.sentence, own))))

    def data(self) -> dict[str, Any]:
        """See `Outcome`."""
        shown = [asdict(late) for late in late_requests(self.sides)] if self.step.shows_resent else None
        return {
            "kind": "load",
            "title": self.step.title,
            "plan": plan_data(self.sides[0].plan),
            "profiles": profiles_data(self.sides),
            **({} if shown is None else {"late_requests": shown}),
        }


@dataclass(frozen=True, slots=True)
class Beside:
    """What is done beside carrying steps out.

    Attributes:
        resources: servers and generator are looked at while runs last.
        folder: gets the servers' logs, and rows too many to be kept.
        after_run: called as a run ends, with the load as far as it was carried out.
    """

    resources: bool = False
    folder: RunFolder | None = None
    after_run: Callable[[LoadOutcome], None] = field(default=lambda _: None)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    def log_path(self, instance: Instance) -> Path | None:
        """Where the log of the next server goes, numbered through all steps; None: nowhere for good."""
        return None if self.folder is None else self.folder.log_path(next(self._numbers), instance.spec)


def check_load(step: Load) -> None:
    """Checks that the load fits this machine.

    Raises:
        loadgen.errors.UsageError: it does not.
    """
    check_capacity(plan_of(step, "http://127.0.0.1"))


def carry_out_load(step: Load, servers: Sequence[RunningServer], beside: Beside) -> LoadOutcome:
    """Carries the load's runs out in turns at servers that are ready, one an entry.

    Raises:
        loadgen.errors.UsageError: the load does not fit this machine.
    """
    instances = [server.instance for server in servers]
    with Comparison(
        instances, lambda base: plan_of(step, base), servers, resources=beside.resources, folder=beside.folder
    ) as comparison:
        so_far = LoadOutcome(step, comparison.measured, interrupted=True)
        interrupted = carry_out(comparison, after_run=lambda: beside.after_run(so_far))
        return replace(so_far, interrupted=interrupted)


def plan_of(step: Load, base: str) -> Plan:
    """The plan of a load at a server's base URL."""
    workload = Workload(step.n, step.concurrency, keepalive=step.keepalive, timeout_s=step.timeout_s)
    return Plan(
        Target.parse(f"{base}{step.path}"),
        workload,
        runs=step.runs,
        warmup=step.warmup,
        over_ms=step.over_ms,
        server_timing=step.server_timing,
    )


def prediction_of(step: Load, entry: Entry, instance: Instance) -> Prediction | None:
    """What is predicted of one side."""
    limits = [limit for limit in (step.limit, instance.concurrency_limit) if limit is not None]
    # Of a server whose limit is not known nothing follows.
    known = limits or entry.predicted.limit or instance.profile.limit_known
    return predict(
        entry.predicted,
        n=step.n,
        concurrency=step.concurrency,
        service_ms=step.service_ms if known else None,
        limit=min(limits, default=None),
    )


def seen_runs(side: Measured) -> list[Seen]:
    """The whole runs of one side."""
    return [Seen.of(run.summary, run.findings, run.samples) for run in side.runs if not run.interrupted]
