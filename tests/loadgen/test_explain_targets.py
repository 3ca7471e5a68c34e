"""Findings of runs of several targets: what goes by target is not taken for places."""

from __future__ import annotations

import numpy as np
import pytest

from loadgen.explain import Evidence, explain
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Share, Target, Workload
from loadgen.runner import Session
from loadgen.samples import Samples
from tests.engines.misbehave import MisbehavingServer
from tests.loadgen.make import Row, samples_of

MS = 1_000_000


def burst(response_ms: list[float], targets: list[int]) -> Samples:
    """Released within some microseconds, with times a little off, as real ones are."""
    noise = np.random.default_rng(1).uniform(0, 2, len(response_ms))
    rows: list[Row] = []
    for at, (ms, target) in enumerate(zip(response_ms, targets, strict=True)):
        begun = at * 5_000
        done = begun + round((ms + float(noise[at])) * MS)
        rows.append({"due": begun, "begun": begun, "connected": begun + 50_000, "done": done, "target": target})
    return samples_of(rows)


def causes(samples: Samples, concurrency: int | None = None) -> list[str]:
    return [finding.cause for finding in explain(Evidence(samples, concurrency or len(samples)))]


@pytest.mark.parametrize("slow_ms", [200, 300, 1000])
def test_a_quick_and_a_slow_target_without_a_limit_are_no_two_waves(slow_ms: float) -> None:
    samples = burst([100, slow_ms] * 100, [1, 2] * 100)
    assert causes(samples) == ["overlapped"]


def test_the_same_times_by_arrival_are_two_waves_whatever_the_target() -> None:
    samples = burst([100.0] * 100 + [200.0] * 100, [1, 2] * 100)
    (finding,) = explain(Evidence(samples, len(samples)))
    assert finding.cause == "concurrency-limit"
    assert finding.details["limit"] == 100


def test_targets_that_came_one_kind_after_the_other_are_no_two_waves() -> None:
    """In the order of arrival they look exactly like waves: the target alone tells."""
    samples = burst([100.0] * 100 + [200.0] * 100, [1] * 100 + [2] * 100)
    assert causes(samples) == ["overlapped"]


def test_of_targets_that_are_unlike_and_wait_nothing_is_told() -> None:
    times = [100.0, 300.0] * 50 + [250.0, 500.0] * 50
    assert causes(burst(times, [1, 2] * 100)) == []


def test_of_targets_with_one_request_each_nothing_is_told() -> None:
    times = [100.0] * 100 + [200.0] * 100
    assert causes(burst(times, list(range(1, 201)))) == []


def test_a_target_that_always_answers_503_sheds_nothing() -> None:
    rows: list[Row] = []
    for at in range(200):
        is_broken = at % 2 == 1
        answer = {"status": 503, "outcome": int(Outcome.HTTP_5XX)} if is_broken else {}
        rows.append({"connected": 50_000, "done": (5 if is_broken else 100) * MS + at * 10_000, "target": at % 2 + 1})
        rows[-1] |= answer
    assert "shed" not in causes(samples_of(rows))
    for row in rows:
        row["target"] = 0
    assert "shed" in causes(samples_of(rows))


def test_a_real_server_without_a_limit() -> None:
    with MisbehavingServer() as server:
        targets = [Target.parse(server.url(f"/slow?ms={ms}")) for ms in (300, 600)]
        plan = Plan(targets[0], Workload(60, 60), mix=tuple(Share(target) for target in targets))
        with Session(plan) as session:
            run = session.run(1)
    assert [figures.ok for figures in run.summary.targets] == [30, 30]
    assert not {finding.cause for finding in run.findings} & {"concurrency-limit", "serial", "connection-limit"}
