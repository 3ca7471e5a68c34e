"""What a report says: the answer in a sentence, the review sheet, how to repeat it. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any, Final

from rig.report.sides import Side
from rig.runs.result import RUNS_DIR
from rig.runs.saved import SavedRun

_PEAKS: Final = {
    "cpu_percent": "CPU {:,.0f} %",
    "rss_bytes": "memory {:,.0f} MiB",
    "threads": "{:,.0f} threads",
    "descriptors": "{:,.0f} descriptors",
    "queue": "accept queue {:,.0f}",
    "in_flight": "{:,.0f} in flight",
    "waiting": "{:,.0f} waiting",
    "gc_pause_ms": "garbage collection {:,.1f} ms",
}
_MIB: Final = 2**20


def answer(saved: Sequence[SavedRun], sides: Sequence[Side]) -> str:
    """One sentence with its condition: the comparison that changed the wall most, or what was found of one profile.

    Of a scenario: how many of its predictions held.
    A comparison with a profile that failed requests comes behind the others: it was quick with what it refused.
    """
    if told := _of_scenarios(saved):
        return told[0]
    compared = [(run, comparison) for run in saved for comparison in run.result.get("comparisons", ())]
    failing = {side.profile.spec for side in sides if _failed(side)}
    if not sides:
        return "Nothing was measured."
    if compared:
        run, most = max(compared, key=lambda each: (not _specs(each[1]) & failing, _change(each[1])))
        return f"{_condition(run.profiles[0].plan)}: {most['sentence']}."
    condition = _condition(sides[0].profile.plan)
    findings = [finding for _, finding in sides[0].findings]
    if not findings:
        return f"{condition}: no cause was found."
    main = max(findings, key=lambda finding: int(finding["requests"]))
    return f"{condition}: {main['sentence']}"


def _condition(plan: Mapping[str, Any]) -> str:
    runs = "1 run" if plan["runs"] == 1 else f"{plan['runs']} runs each"
    return f"{_sentence_begun(load(plan))}, {runs}"


def further(saved: Sequence[SavedRun], sides: Sequence[Side]) -> list[str]:
    """The other comparisons' sentences, and the other scenarios'."""
    given = answer(saved, sides)
    sentences = _of_scenarios(saved)[1:]
    sentences += [f"{comparison['sentence']}." for run in saved for comparison in run.result.get("comparisons", ())]
    return [sentence for sentence in sentences if not given.endswith(sentence)]


def _of_scenarios(saved: Sequence[SavedRun]) -> list[str]:
    """What became of each scenario's predictions."""
    of_scenarios = [run.result for run in saved if run.result.get("sentence")]
    return [f"{result['scenario']['title']}: {result['sentence']}." for result in of_scenarios]


def doubts(saved: Sequence[SavedRun], sides: Sequence[Side]) -> list[str]:
    """What a reader must know before believing a figure."""
    said = [
        f"{run.result['name']} is incomplete: it holds what was measured until it ended."
        for run in saved
        if not run.result["complete"]
    ]
    for side in sides:
        if failed := _failed(side):
            requests = sum(int(run.data["requests"]) for run in side.profile.runs)
            said.append(
                f"{side.label}: {failed:,} of {requests:,} requests failed; its response times are of the others."
            )
        for word, runs in (
            (
                "not to be trusted: the generator was the bottleneck",
                [r for r in side.profile.runs if not r.data["trusted"]],
            ),
            ("interrupted, and in no median", [r for r in side.profile.runs if r.data["interrupted"]]),
            (
                "without samples, and in no chart of requests",
                [r for r in side.profile.runs if r.number not in side.samples],
            ),
        ):
            if runs:
                numbers = ", ".join(str(run.number) for run in runs)
                said.append(f"{side.label}: run {numbers} of {len(side.profile.runs)} {word}.")
    return said


def load(plan: Mapping[str, Any]) -> str:
    """The workload in a few words, as in `400 requests at once`."""
    requests, users = plan["requests"], plan["concurrency"]
    count = "requests" if requests is None else f"{requests:,} requests"
    stages = plan.get("stages") or ()
    for_s = f" over {sum(stage[0] for stage in stages):g} s" if stages else ""
    match plan["kind"]:
        case "burst":
            return f"{count} at once"
        case "closed":
            return f"{count} by {users:,} users{for_s}"
        case _:
            levels = sorted({level for stage in stages for level in stage[1:]})
            rate = f" at {levels[0]:g}" + (f" to {levels[-1]:g}" if len(levels) > 1 else "") + "/s" if levels else ""
            return f"{count}{rate}, {plan['arrivals']} arrivals{for_s}"


def sheet(saved: Sequence[SavedRun], sides: Sequence[Side]) -> Iterator[tuple[str, list[str]]]:
    """The review sheet of an honest measurement: each heading with what there is to say."""
    plans = [side.profile.plan for side in sides]
    yield "Purpose", _each(map(_purpose, plans), sides)
    yield "Environment", [_environment(run) for run in saved]
    yield "Load", _each((load(plan) + _more_load(plan) for plan in plans), sides)
    yield "Work", _each(map(_work, plans), sides)
    yield "Limits", [f"{side.label}: {side.profile.limits or 'not known'}" for side in sides]
    yield "Procedure", _each(map(_procedure, plans), sides)
    raw = "Raw: every run in the table above, every request in samples.csv.gz of the run's folder."
    yield "Results", [*map(_result, sides), raw]
    yield "Resources", [_resources(side) for side in sides]


def commands(saved: Sequence[SavedRun]) -> list[str]:
    """What repeats the measurement, and what makes this page."""
    return [
        *(shlex.join(run.result["command"]) for run in saved),
        *(shlex.join(["rig", "rerun", _named(run)]) for run in saved),
        shlex.join(["rig", "report", *map(_named, saved)]),
    ]


def _named(run: SavedRun) -> str:
    """What the commands take from where it was measured: a name under runs/, else the folder."""
    return run.path.name if run.path.parent == RUNS_DIR else str(run.path)


def _specs(comparison: Mapping[str, Any]) -> set[str]:
    return {comparison["base"], comparison["profile"]}


def _failed(side: Side) -> int:
    """Failed requests of all runs."""
    return sum(int(run.data["failed"]) for run in side.profile.runs)


def _change(comparison: Mapping[str, Any]) -> float:
    """How many times the median wall changed, either way, on a log scale."""
    wall = comparison["median_wall_ms"]
    return abs(log(wall["profile"] / wall["base"])) if wall["profile"] and wall["base"] else -1.0


def _each(texts: Iterator[str] | map[str], sides: Sequence[Side]) -> list[str]:
    """What holds of every profile once, else each profile's own."""
    told = list(texts)
    if len(set(told)) == 1:
        return told[:1]
    return [f"{side.label}: {text}" for side, text in zip(sides, told, strict=True)]


def _purpose(plan: Mapping[str, Any]) -> str:
    match plan["kind"]:
        case "burst":
            return "Response times: how many requests are worked on at once, and what the others wait for."
        case "closed":
            return "Throughput and response times with a fixed number of users."
        case _:
            return "Response times at a rate of arrivals, and whether the server keeps up with it."


def _environment(run: SavedRun) -> str:
    """The facts of the environment that fit a line; the others have a table."""
    facts = ", ".join(f"{name} {value}" for name, value in run.result["environment"].items() if _is_plain(value))
    return f"{run.result['time']}: {facts}"


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)


def _more_load(plan: Mapping[str, Any]) -> str:
    connections = "connected beforehand" if plan["preconnect"] else "kept-alive" if plan["keepalive"] else "fresh"
    if plan["kind"] == "burst" and not plan["preconnect"]:
        connections = "fresh"
    think = f"; {plan['think_s']:g} s between answer and next request" if plan.get("think_s") else ""
    workers = f"; {plan['workers']} processes" if plan.get("workers", 1) != 1 else ""
    return f"; connections {connections}{think}; engine {plan['engine']}{workers}"


def _work(plan: Mapping[str, Any]) -> str:
    path = "/" + str(plan["url"]).partition("://")[2].partition("/")[2]
    return (
        f"{plan['method']} {path}, {plan['body_bytes']:,} bytes sent. Ok: a complete, well-formed response with a"
        f" status below 400 within {plan['timeout_s']:g} s."
    )


def _procedure(plan: Mapping[str, Any]) -> str:
    return (
        f"{plan['warmup']} warm-up runs, {plan['runs']} measured, {plan['pause_s']:g} s between runs. Medians over the"
        " runs; percentile q of n sorted values is the one at index floor(q n)."
    )


def _result(side: Side) -> str:
    runs = [run.data for run in side.profile.runs]
    requests, ok, failed = (sum(int(run[key]) for run in runs) for key in ("requests", "ok", "failed"))
    gave_up = sum(int(run["failures"].get(name, 0)) for run in runs for name in ("timeout", "connect-timeout"))
    counts = f"{requests:,} requests, {ok:,} ok, {failed:,} failed, {gave_up:,} of them timed out"
    return f"{side.label}: {counts}."


def _resources(side: Side) -> str:
    peaks = []
    for column, words in _PEAKS.items():
        rows = (row for run in side.profile.runs for row in run.resources if row["side"] == "server")
        values = [float(row[column]) for row in rows if row.get(column)]
        if values:
            peaks.append(words.format(max(values) / (_MIB if column == "rss_bytes" else 1)))
    client = max((float(run.data["client"]["cpu_percent"]) for run in side.profile.runs), default=0.0)
    server = f"server at most {', '.join(peaks)}" if peaks else "the server's were not recorded"
    return f"{side.label}: {server}; generator at most {client:,.0f} % of a core."


def _sentence_begun(text: str) -> str:
    return text[:1].upper() + text[1:]
