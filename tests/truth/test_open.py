"""Open runs against simulated queues below, at and beyond their capacity: no limit that is told may be wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from loadgen.explain import Finding, explain
from tests.truth.model import Floats, Setup, Trace, simulate
from tests.truth.observe import Observer, observed

LOADS = (0.3, 0.6, 0.9, 0.97, 1.0, 1.03, 1.1, 1.5, 3.0)
BEHIND = ("serial", "concurrency-limit", "connection-limit", "cpu-shared")
WAITED_PART = 0.02
"""So many may have waited for a good part of a service time where none is said to have."""


@dataclass(frozen=True)
class Case:
    load: float
    limit: int
    service_s: float
    spread: float
    poisson: bool
    seed: int

    def trace(self) -> Trace:
        rng = np.random.default_rng(self.seed)
        rate = self.load * self.limit / self.service_s
        n = int(max(150, 25 * self.limit))
        gaps = rng.exponential(1 / rate, n) if self.poisson else np.full(n, 1 / rate)
        service: Floats = self.service_s * (
            rng.exponential(1, n) if self.spread == 1 else rng.uniform(1 - self.spread, 1 + self.spread, n)
        )
        arrivals = np.concatenate(([0.0], np.cumsum(gaps)[:-1]))
        return simulate(Setup(n, n, service, limit=self.limit, noise_s=50e-6, arrivals_s=arrivals), rng)


def cases(*loads: float, spreads: tuple[float, ...] = (0.0, 0.02, 0.1, 0.3, 1.0)) -> list[Case]:
    return [
        Case(load, limit, service_s, spread, poisson, seed)
        for seed, (load, (limit, service_s), spread, poisson) in enumerate(
            (load, server, spread, poisson)
            for load in loads
            for server in ((1, 0.02), (4, 0.05), (20, 0.1), (60, 0.03))
            for spread in spreads
            for poisson in (False, True)
        )
    ]


def told(trace: Trace, observer: Observer = "local") -> tuple[Finding, ...]:
    return explain(observed(trace, observer))


@pytest.mark.parametrize("load", LOADS)
def test_no_limit_that_is_told_is_wrong(load: float) -> None:
    for case in cases(load):
        trace = case.trace()
        for finding in told(trace):
            if "limit" in finding.details:
                assert finding.details["limit"] == case.limit, case
            if finding.cause == "overlapped":
                waited = trace.column("started") - trace.column("reached")
                assert (waited > 0.3 * case.service_s).mean() < WAITED_PART, case


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_below_the_capacity_nothing_is_said_to_fall_behind(load: float) -> None:
    for case in cases(load, spreads=(0.0, 0.02, 0.1)):
        assert not {finding.cause for finding in told(case.trace())} & set(BEHIND), case


def test_arrivals_that_are_kept_up_with_are_said_to_be() -> None:
    found = [told(case.trace()) for case in cases(0.3, 0.6, spreads=(0.0, 0.02, 0.1)) if not case.poisson]
    assert all([finding.cause for finding in findings] == ["overlapped"] for findings in found)


@pytest.mark.parametrize("observer", ["local", "remote", "blind"])
def test_well_beyond_the_capacity_the_limit_is_told(observer: Observer) -> None:
    for case in cases(1.5, 3.0, spreads=(0.0, 0.02)):
        limits = [finding.details.get("limit") for finding in told(case.trace(), observer)]
        assert case.limit in limits, case


def test_the_sentence_has_rates_limit_and_service_time() -> None:
    (finding,) = told(Case(1.5, 20, 0.1, 0.0, False, 1).trace())
    assert finding.cause == "concurrency-limit"
    assert finding.sentence == (
        "requests came at 300/s and the server completed 200/s: it works on 20 requests at once, about 100 ms each;"
        " the others waited, longer and longer."
    )


def test_one_that_kept_up_says_how_many_were_under_way() -> None:
    (finding,) = told(Case(0.9, 20, 0.1, 0.0, False, 1).trace())
    assert finding.sentence.startswith("the server kept up with 180/s: about 18 under way at once, 100 ms to")
    assert finding.sentence.endswith("none waited.")


def test_a_busy_cpu_is_the_reason_where_more_than_one_is_at_work() -> None:
    trace = Case(1.5, 20, 0.1, 0.0, False, 1).trace()
    (finding,) = explain(observed(trace, "local", cpu_s=2 * trace.column("done").max()))
    assert finding.cause == "cpu-shared"
    assert "2.0 of 2 CPUs busy" in finding.sentence


def test_a_load_of_more_than_one_rate_is_not_judged() -> None:
    arrivals = np.concatenate((np.arange(200) / 100, 2 + np.arange(800) / 400))
    setup = Setup(1000, 1000, np.full(1000, 0.1), limit=20, arrivals_s=arrivals)
    assert told(simulate(setup, np.random.default_rng(1))) == ()
