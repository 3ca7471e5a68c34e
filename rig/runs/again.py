"""The text of a saved run, as it was printed when it was new.

The values that the renderers take are made anew from result.json: the figures there are those that were printed, to the
microsecond. Rows are not needed, and not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from loadgen.distribute.crew import Skew
from loadgen.errors import DataError
from loadgen.explain import Evidence, Finding
from loadgen.objective import parse_objective
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Share, Stage, Target, Workload
from loadgen.render import text
from loadgen.resources.seen import CLIENT, SERVER, Look, Peaks, Resources
from loadgen.run import Run
from loadgen.samples import COLUMNS, Samples
from loadgen.store import DTYPES
from loadgen.summary import NS_PER_MS, Durations, Lateness, Second, Summary, TargetSummary, Times
from rig.diff.again import compared_again
from rig.diff.fail_if import judged_line
from rig.measured import Measured
from rig.render import against, blocks, table
from rig.runs.saved import SavedProfile, SavedRun
from servers.catalog import Instance
from servers.profile import Knob, Profile, Text

_OF_FINDINGS: Final = ("cause", "requests", "sentence", "evidence")


def lines(saved: SavedRun, *, quiet: bool = False) -> Iterator[str]:
    """The lines; `quiet` leaves the reasons out, as it did then.

    Raises:
        DataError: it is of a kind that this version does not know, or its figures are not what they should be.
    """
    forms: dict[str, Callable[..., Iterator[str]]] = {
        "compare": _of_comparison,
        "loadgen": _of_loadgen,
        "run": _of_scenario,
    }
    kind = saved.result["kind"]
    if kind not in forms:
        raise DataError(f"{saved.path}: a run of kind {kind!r} cannot be shown; those that can are {', '.join(forms)}")
    try:
        yield from forms[kind](saved, quiet=quiet)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{saved.path}: result.json is not what it should be: {error!r}") from None


def measured_again(profile: SavedProfile) -> Measured:
    """A profile and its runs, as they were measured; of the rows, none."""
    plan = plan_again(profile.plan)
    return Measured(_instance(profile), plan, [_run(run.data, plan) for run in profile.runs])


def plan_again(data: Mapping[str, Any]) -> Plan:
    """The plan as it was, but for what was left out of the file: the body, and the secrets."""
    return Plan(
        target=_target(data),
        workload=Workload(
            requests=data["requests"],
            concurrency=data["concurrency"],
            keepalive=data["keepalive"],
            preconnect=data["preconnect"],
            timeout_s=data["timeout_s"],
            connect_timeout_s=data["connect_timeout_s"],
            stages=tuple(Stage(*stage) for stage in data["stages"]),
            is_open=data["kind"] == "open",
            poisson=data["arrivals"] == "poisson",
            seed=data["seed"],
            think_s=data["think_s"],
        ),
        runs=data["runs"],
        warmup=data["warmup"],
        pause_s=data["pause_s"],
        over_ms=data["over_ms"],
        engine=data["engine"],
        http2=data["http2"],
        server_timing=data["server_timing"],
        objectives=tuple(parse_objective(objective) for objective in data["objectives"]),
        workers=data["workers"],
        scheduler=data["scheduler"],
        mix=tuple(Share(_target(share), share["weight"]) for share in data.get("targets", ())),
    )


def _target(data: Mapping[str, Any]) -> Target:
    headers = tuple((name, value) for name, value in data["headers"])
    return Target.parse(data["url"], method=data["method"], headers=headers)


def _of_comparison(saved: SavedRun, *, quiet: bool) -> Iterator[str]:
    measured = [measured_again(profile) for profile in saved.profiles]
    yield from blocks(measured, quiet=quiet)
    if measured:
        yield from table(measured)
    comparisons = saved.result.get("comparisons", ())
    yield from against(measured, compared_again(saved.result))
    if not quiet:
        yield from (comparison["sentence"] for comparison in comparisons)
    for comparison in comparisons:
        yield from (judged_line(comparison["profile"], judged) for judged in comparison.get("fail_if", ()))


def _of_loadgen(saved: SavedRun, *, quiet: bool) -> Iterator[str]:
    for profile in saved.profiles:
        measured = measured_again(profile)
        for run in measured.runs:
            yield from text.run_lines(measured.plan, run, quiet=quiet)
        if not quiet:
            yield from text.all_runs_lines([run.findings for run in measured.runs])
        yield from text.objective_lines(measured.plan, measured.runs)


def _of_scenario(saved: SavedRun, *, quiet: bool) -> Iterator[str]:
    """As it was kept: much of it is made of more than the figures."""
    yield from saved.result["printed"]["quiet" if quiet else "all"]


def _instance(profile: SavedProfile) -> Instance:
    """The profile in the words of then: by now it may have other knobs, or not be there."""
    data = profile.data
    args = Knob("args", "", "as they were", Text())
    shown = Profile(
        name=profile.spec.partition(":")[0],
        server=data["server"],
        knobs=(args,),
        limits=lambda _: profile.limits,
        concurrency_limit=lambda _: data["concurrency_limit"],
        limit_known=data["limit_known"],
        command=lambda *_: [],
        option=lambda _, value: str(value),
    )
    given = {"args": profile.args} if profile.args else {}
    return Instance(shown, {"args": profile.args}, profile.spec, given)


def _run(data: Mapping[str, Any], plan: Plan) -> Run:
    return Run(
        number=data["run"],
        address=data["address"],
        evidence=Evidence(_no_rows(), concurrency=data["concurrency"], over_ms=data["over_ms"]),
        summary=_summary(data, plan),
        findings=tuple(_finding(finding) for finding in data["findings"]),
        interrupted=data["interrupted"],
        skew=None if data["cluster"] is None else _skew(data["cluster"]),
        resources=_resources(data.get("resources")),
    )


def _resources(data: Mapping[str, Any] | None) -> Resources | None:
    """The peaks, as if one look had seen them all."""
    if data is None:
        return None
    looks = tuple(
        Look(0, side, **{name: data[side][name] for name in Peaks.__slots__})
        for side in (SERVER, CLIENT)
        if data[side] is not None
    )
    return Resources(looks, None if data[SERVER] is None else data[SERVER]["queue_limit"], None)


def _no_rows() -> Samples:
    columns: dict[str, Any] = {name: np.empty(0, dtype=DTYPES[name]) for name in COLUMNS}
    return Samples(**columns)


def _summary(data: Mapping[str, Any], plan: Plan) -> Summary:
    lateness = data["lateness"]
    return Summary(
        requests=data["requests"],
        concurrency=data["concurrency"],
        ok=data["ok"],
        failures=_failures(data["failures"]),
        statuses={int(status): count for status, count in data["statuses"].items()},
        wall_ns=_ns(data["wall_ms"]),
        times=_times(data),
        over_ms=data["over_ms"],
        over=data["over"],
        release_ns=_ns(data["release_ms"]),
        resent=data["resent"],
        bytes_in=data["bytes_in"],
        is_burst=not plan.workload.is_open and data["concurrency"] >= data["requests"],
        service=None if data["service"] is None else _times(data["service"]),
        lateness=None if lateness is None else Lateness(**_in_ns(lateness)),
        server_timing={
            name: Durations(**_in_ns(took), count=took["count"]) for name, took in data["server_timing"].items()
        },
        with_server_timing=data["with_server_timing"],
        is_exact=data["percentiles"] == "exact",
        seconds=_seconds(data["seconds"]),
        targets=tuple(
            TargetSummary(figures["requests"], figures["ok"], _failures(figures["failures"]), _times(figures))
            for figures in data.get("targets", ())
        ),
    )


def _failures(data: Mapping[str, int]) -> dict[Outcome, int]:
    return {outcome: data[outcome.label] for outcome in Outcome if outcome.label in data}


def _seconds(data: Sequence[Mapping[str, Any]]) -> tuple[Second, ...]:
    return tuple(Second(second["second"], second["ok"], second["failed"], **_in_ns(second)) for second in data)


def _times(data: Mapping[str, Any]) -> Times | None:
    names = ("min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms", "mean_ms")
    return None if data["p50_ms"] is None else Times(**_in_ns({name: data[name] for name in names}))


def _finding(data: Mapping[str, Any]) -> Finding:
    details = {name: value for name, value in data.items() if name not in _OF_FINDINGS}
    return Finding(data["cause"], data["requests"], data["sentence"], data["evidence"], details)


def _skew(data: Mapping[str, Any]) -> Skew:
    return Skew(scheduler=data["scheduler"], workers=data["workers"], **_in_ns(data))


def _in_ns(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is in ms, in ns, under the names that say so."""
    return {f"{name.removesuffix('_ms')}_ns": _ns(value) for name, value in data.items() if name.endswith("_ms")}


def _ns(ms: float | None) -> int | None:
    return None if ms is None else round(ms * NS_PER_MS)
