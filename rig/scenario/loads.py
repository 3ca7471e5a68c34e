"""A load carried out: requests at each entry's server, in turns, as `rig compare` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from loadgen.plan import Plan, Target, Workload
from loadgen.preflight import check_capacity
from loadgen.render.document import plan_data
from loadgen.runner import Run
from loadgen.samples import MISSING
from loadgen.summary import NS_PER_MS, NS_PER_S
from rig.columns import aligned
from rig.compare import Comparison, Measured
from rig.render import blocks, profiles_data
from rig.scenario.judge import Seen
from rig.scenario.outcome import Row, row_of
from rig.turns import carry_out
from scenarios.scenario import Entry, Load
from scenarios.theory import Prediction, predict
from servers.catalog import Instance


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
        yield from blocks(self.sides, quiet=quiet)
        if self.step.shows_resent:
            yield from _resent_table(self.sides, self.step.over_ms)
            yield ""

    def rows(self) -> Iterator[Row]:
        """See `Outcome`."""
        for entry, side in zip(self.step.entries, self.sides, strict=True):
            yield row_of(self.step, entry, prediction_of(self.step, entry, side.instance), seen_runs(side))

    def data(self) -> dict[str, Any]:
        """See `Outcome`."""
        shown = [asdict(late) for late in _late_requests(self.sides)] if self.step.shows_resent else None
        return {
            "kind": "load",
            "title": self.step.title,
            "plan": plan_data(self.sides[0].plan),
            "profiles": profiles_data(self.sides),
            **({} if shown is None else {"late_requests": shown}),
        }


def carry_out_load(step: Load, instances: Sequence[Instance]) -> LoadOutcome:
    """Starts a server for each instance, carries the load's runs out in turns, and stops the servers.

    Raises:
        servers.errors.ServersError: one could not start.
        loadgen.errors.UsageError: the load does not fit this machine.
    """
    check_capacity(plan_of(step, "http://127.0.0.1"))  # found out before a server starts
    with Comparison(instances, lambda base: plan_of(step, base)) as comparison:
        interrupted = carry_out(comparison)
        return LoadOutcome(step, comparison.measured, interrupted)


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


@dataclass(frozen=True, slots=True)
class _Late:
    """A late request and what its connection went through."""

    profile: str
    run: int
    request: int
    connect_ms: float | None
    resent: int | None
    response_ms: float


def _late_requests(sides: Sequence[Measured]) -> Iterator[_Late]:
    for side in sides:
        for run in side.runs:
            for row in np.flatnonzero(run.evidence.late):
                yield _late(side.instance.spec, run, int(row))


def _late(profile: str, run: Run, row: int) -> _Late:
    samples = run.samples
    connected, resent = int(samples.connected[row]), int(samples.resent[row])
    return _Late(
        profile,
        run.number,
        row,
        None if connected == MISSING else round((connected - int(samples.begun[row])) / NS_PER_MS, 3),
        None if resent == MISSING else resent,
        round(int(samples.response_ns[row]) / NS_PER_MS, 3),
    )


def _resent_table(sides: Sequence[Measured], over_ms: int) -> Iterator[str]:
    """The late requests, those of one run that were sent again as often and connected in the same second together."""
    groups: dict[tuple[str, int, int | None, int | None], list[_Late]] = {}
    for late in _late_requests(sides):
        second = None if late.connect_ms is None else int(late.connect_ms * NS_PER_MS / NS_PER_S)
        groups.setdefault((late.profile, late.run, late.resent, second), []).append(late)
    specs = [side.instance.spec for side in sides]

    def order(group: tuple[str, int, int | None, int | None]) -> tuple[int, ...]:
        profile, number, resent, second = group
        return specs.index(profile), number, resent or 0, second or 0

    rows = [["profile", "run", f"over{over_ms}ms", "resent", "connect_ms", "response_ms"]]
    for (profile, number, resent, _), group in sorted(groups.items(), key=lambda item: order(item[0])):
        connects = [late.connect_ms for late in group if late.connect_ms is not None]
        shown = "n/a" if resent is None else f"{resent} each"
        rows.append(
            [
                profile,
                str(number),
                str(len(group)),
                shown,
                _range(connects),
                _range([late.response_ms for late in group]),
            ]
        )
    if len(rows) == 1:
        yield f"no request was late (over {over_ms} ms)"
        return
    yield from aligned(rows)


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}" if values else "never"
