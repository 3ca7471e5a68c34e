"""What simulated steps come to: 20 places of 100 ms, so 200 requests a second, reached with 20 users."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loadgen.explain import explain
from loadgen.objective import parse_objective
from loadgen.plan import Plan, Stage, Target, Workload
from loadgen.run import Run
from loadgen.summary import summarize
from loadgen.sweep.carry import Search
from loadgen.sweep.result import Result, result_of
from loadgen.sweep.search import Bracket
from loadgen.sweep.step import Step
from loadgen.watch import ClientUse
from tests.truth.model import Setup, simulate
from tests.truth.observe import observed

PLACES, SERVICE_S, CAPACITY = 20, 0.1, 200
STEP_S = 2.0
TARGET = Target.parse("http://127.0.0.1:8080/sleep")


def step(level: float, *, is_rate: bool, cpu_percent: float = 12.0) -> Step:
    """A step of 2 s, simulated."""
    stages = (Stage(STEP_S, level, level),)
    if is_rate:
        n = int(STEP_S * level)
        service = np.full(n, SERVICE_S)
        setup = Setup(n, n, service, limit=PLACES, arrivals_s=np.arange(n) / level)
    else:
        n = int(max(STEP_S * min(level / SERVICE_S, CAPACITY), level))
        setup = Setup(n, int(level), np.full(n, SERVICE_S), limit=PLACES, keepalive=True)
    trace = simulate(setup, np.random.default_rng(1))
    evidence = observed(trace, "local", use=ClientUse(cpu_percent, 0.8, 2.0))
    users = 0 if is_rate else int(level)
    workload = Workload(None, 1000 if is_rate else users, stages=stages, is_open=is_rate)
    summary = summarize(evidence.samples, concurrency=users, over_ms=1500, is_open=is_rate)
    run = Run(1, "127.0.0.1:8080", evidence, summary, explain(evidence), interrupted=False)
    return Step(level, Plan(TARGET, workload), run)


def of_users(*levels: float) -> Result:
    return result_of([step(level, is_rate=False) for level in levels])


def of_rates(*levels: float) -> Result:
    return result_of([step(level, is_rate=True) for level in levels])


def test_users_flatten_at_the_places() -> None:
    result = of_users(2, 5, 10, 20, 50, 100)
    assert result.value == pytest.approx(PLACES, rel=0.1)
    assert result.sentence.startswith("throughput flattens at about ")
    assert "beyond it each further user adds waiting, not throughput" in result.sentence
    assert result.interval is not None
    assert result.value is not None
    assert result.interval[0] <= result.value <= result.interval[1]


def test_where_throughput_still_grows_no_knee_is_told() -> None:
    result = of_users(2, 5, 10, 15)
    assert result.value is None
    assert "do not show where throughput flattens" in result.sentence


def test_where_it_is_flat_from_the_first_step_on_no_knee_is_told() -> None:
    result = of_users(40, 60, 80, 100)
    assert result.value is None
    assert "flat from 40 users" in result.sentence


def test_fewer_than_four_steps_are_too_few() -> None:
    assert "too few" in of_users(5, 20, 50).sentence


def test_the_first_rate_that_is_not_kept_up_with_bounds_the_capacity() -> None:
    result = of_rates(100, 150, 190, 220, 400)
    assert (result.value, result.interval) == (190, (190, 220))
    assert result.sentence == (
        "the server kept up with 190/s; at 220/s completions fell behind arrivals: 200/s were completed."
    )


def test_rates_that_are_all_kept_up_with_have_no_bound() -> None:
    assert of_rates(100, 150).interval is None
    assert "every rate tried, up to 150/s" in of_rates(100, 150).sentence


def test_steps_of_a_busy_generator_are_left_out() -> None:
    behind = step(400, is_rate=True, cpu_percent=99)
    assert behind.kept_up is None
    assert result_of([step(100, is_rate=True), behind]).interval is None


@pytest.mark.parametrize("objective", ["p99<300ms", "p99<105ms", "failed<1%"])
@pytest.mark.parametrize("is_rate", [True, False])
def test_a_search_ends_at_the_capacity(objective: str, is_rate: bool) -> None:
    bracket = Bracket(5, 2000 if is_rate else 200, whole=not is_rate)
    search = Search(lambda level: step(level, is_rate=is_rate).plan, [parse_objective(objective)], bracket)
    while (level := bracket.next()) is not None:
        bracket.tell(search.miss(step(level, is_rate=is_rate)) is None)
    assert bracket.kept is not None
    if is_rate:
        assert bracket.kept == pytest.approx(CAPACITY, rel=0.1)
    elif objective == "p99<105ms":
        assert bracket.kept == pytest.approx(PLACES, abs=1)
    elif objective == "p99<300ms":
        assert bracket.kept == pytest.approx(3 * PLACES, abs=3)


def test_a_step_that_is_not_trusted_keeps_no_objective() -> None:
    search = Search(lambda level: step(level, is_rate=True).plan, [parse_objective("p99<300ms")], Bracket(1, 9, True))
    assert search.miss(step(100, is_rate=True)) is None
    assert search.miss(step(100, is_rate=True, cpu_percent=99)) == "the generator was the bottleneck"
    failed = step(100, is_rate=True)
    summary = replace(failed.run.summary, times=None)
    assert search.miss(replace(failed, run=replace(failed.run, summary=summary))) == "p99 = n/a"
