"""What is printed before and after the steps of a scenario, and the JSON object. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any, Final

from loadgen.render.document import environment_data
from rig.columns import aligned
from rig.scenario.curve import curve_lines, curves
from rig.scenario.estimate import scenario_seconds
from rig.scenario.judge import Verdict
from rig.scenario.outcome import Outcome, Row
from rig.tasks.estimate import spoken_estimate
from scenarios.scenario import Scenario
from servers.catalog import PROFILES

SCHEMA: Final = "scenario/1"

_WIDTH: Final = 120


def heading(scenario: Scenario, seconds: float) -> Iterator[str]:
    """Title, question and source, and how long it will take, before anything is measured."""
    yield f"===== {scenario.title} ({scenario.name}, {scenario.source})"
    yield from wrap(scenario.question, _WIDTH)
    yield f"(takes {spoken_estimate(seconds)})"
    yield ""


def closing(scenario: Scenario, outcomes: Sequence[Outcome], *, quiet: bool, interrupted: bool) -> Iterator[str]:
    """The table of what was published, predicted and measured, and a sentence a row."""
    rows = [row for outcome in outcomes for row in outcome.rows()]
    if interrupted:
        yield f"interrupted: {'what was measured until then' if rows else 'nothing was measured until then'}"
    drawn: set[str] = set()
    for curve in curves(outcomes):
        drawn.update(outcome.step.title for outcome in curve)
        yield from curve_lines(curve)
        yield ""
    for step in dict.fromkeys(row.step for row in rows):
        of_step = [row for row in rows if row.step == step]
        if step in drawn and not any(row.is_predicted or row.verdict is Verdict.UNMEASURED for row in of_step):
            continue
        if len(scenario.steps) > 1:
            yield step
        yield from aligned([["profile", "published", "predicted", "measured", "verdict"], *map(_cells, of_step)])
        if not quiet:
            yield from (f"{row.spec}: {row.sentence}." for row in of_step)
        yield ""
    if scenario.caution and rows:
        yield from wrap(f"caution: {scenario.caution}", _WIDTH)
    if rows or not interrupted:
        yield total(rows)


def printed(scenario: Scenario, outcomes: Sequence[Outcome], *, quiet: bool, interrupted: bool | None) -> Iterator[str]:
    """What stands below the heading, as a saved run has it; `interrupted` is None while steps are to come."""
    for outcome in outcomes:
        yield from outcome.lines(quiet=quiet)
    if interrupted is not None:
        yield from closing(scenario, outcomes, quiet=quiet, interrupted=interrupted)


def total(rows: Sequence[Row]) -> str:
    """`5 of 6 predictions held`, and what became of the others."""
    predicted = [row for row in rows if row.is_predicted]
    if not predicted:
        return "no predictions were made"
    others = [verdict for verdict in Verdict if verdict not in (Verdict.HELD, Verdict.UNPREDICTED)]
    counts = {verdict: sum(row.verdict is verdict for row in predicted) for verdict in Verdict}
    told = "".join(f"; {counts[verdict]} {verdict}" for verdict in others if counts[verdict])
    plural = "prediction" if len(predicted) == 1 else "predictions"
    return f"{counts[Verdict.HELD]} of {len(predicted)} {plural} held{told}"


def all_held(outcomes: Sequence[Outcome]) -> bool:
    """Whether every prediction that was made held."""
    return all(row.verdict is Verdict.HELD for outcome in outcomes for row in outcome.rows() if row.is_predicted)


def scenario_data(scenario: Scenario, outcomes: Sequence[Outcome], left_out: Sequence[str]) -> dict[str, Any]:
    """The JSON object of a scenario."""
    head = {"schema": SCHEMA, "environment": environment_data()}
    return head | steps_data(scenario, outcomes, left_out) | verdicts_data(outcomes)


def steps_data(scenario: Scenario, outcomes: Sequence[Outcome], left_out: Sequence[str]) -> dict[str, Any]:
    """What was asked, and what was carried out of it, as plain data."""
    return {
        "scenario": {
            "name": scenario.name,
            "title": scenario.title,
            "question": scenario.question,
            "source": scenario.source,
            "caution": scenario.caution,
        },
        "left_out": list(left_out),
        "steps": [{**outcome.data(), "interrupted": outcome.interrupted} for outcome in outcomes],
    }


def verdicts_data(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What each entry was held against, whether that held, and how many did, as plain data."""
    rows = [row for outcome in outcomes for row in outcome.rows()]
    return {"rows": [_row_data(row) for row in rows], "sentence": total(rows)}


def scenario_list(scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Name, source, how long it takes, and question of each."""
    yield from aligned(
        [
            [each.name, each.source, spoken_estimate(scenario_seconds(each, PROFILES)), each.question]
            for each in scenarios
        ]
    )


def _cells(row: Row) -> list[str]:
    return [row.spec, row.published, row.predicted, row.measured, row.verdict.value]


def _row_data(row: Row) -> dict[str, Any]:
    return {
        "step": row.step,
        "profile": row.spec,
        "published": row.published,
        "predicted": row.predicted,
        "measured": row.measured,
        "verdict": row.verdict.value,
        "sentence": row.sentence,
    }
