"""Where throughput flattens, by curves that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from rig.scenario.curve import curves, flattening
from rig.scenario.loads import LoadOutcome
from scenarios.scenario import Load


def outcome(**load: Any) -> LoadOutcome:
    return LoadOutcome(Load((), **{"path": "/json", "n": 100, "concurrency": 10, **load}), [], interrupted=False)


def test_a_curve_is_of_loads_that_differ_in_nothing_but_how_many_are_in_flight() -> None:
    one, two = outcome(), outcome(concurrency=20)
    other_n, other_path, fresh = outcome(n=200), outcome(path="/sleep"), outcome(concurrency=30, keepalive=False)
    assert curves([one, other_n, two, other_path, fresh]) == [[one, two]]
    assert curves([one, outcome(), outcome(concurrency=100)]) == []


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        (
            [100, 190, 200, 198],
            "flattens between 1 and 2 at a time, at about 200 requests a second; with more at a time",
        ),
        ([100, 200, 380, 50], "between 2 and 4 at a time, at about 380 requests a second; beyond 4 it falls: 50 "),
        ([100, 200, 300, 400], "still rising at 8 at a time, the highest level: 400 requests a second at 8"),
        ([300, 290, 300, 280], "with 1 at a time, the lowest level, so that where it flattens is not known: 300 "),
        ([300, 290, 80, 70], "not known: 300 requests a second there; beyond 2 it falls: 70 requests a second at 8"),
        ([300, 100, 400, 400], "goes up and down over these levels, 100 to 400 requests a second: where it flattens"),
        ([100, 200], "where throughput flattens is not told: 2 levels can be trusted, 3 would do"),
    ],
)
def test_flattening_is_told_between_levels(rates: list[float], says: str) -> None:
    assert says in flattening(list(zip([1, 2, 4, 8], rates, strict=False)))
