from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loadgen.explain import Evidence, Finding, explain
from loadgen.outcome import Outcome
from loadgen.watch import ClientUse
from tests.loadgen.make import failed_rows, ok_rows, samples_of

IDLE = ClientUse(cpu_percent=20.0, loop_lag_p99_ms=0.4, loop_lag_max_ms=0.9)


def evidence_of(
    fastest_ms: float = 1000, *, release_ms: float = 0, requests: int = 10, concurrency: int | None = None
) -> Evidence:
    """Requests that all take as long, of which the last released begins `release_ms` after the first."""
    samples = samples_of(ok_rows(*[fastest_ms] * requests))
    shift = np.zeros(requests, dtype=np.int64)
    shift[(concurrency or requests) - 1 :] = round(release_ms * 1e6)
    later = {name: getattr(samples, name) + shift for name in ("due", "begun", "connected", "first_byte", "done")}
    return Evidence(replace(samples, **later), concurrency=concurrency or requests)


def client_finding(evidence: Evidence, use: ClientUse = IDLE) -> Finding | None:
    found = explain(replace(evidence, use=use))
    return next((finding for finding in found if finding.cause == "client"), None)


def test_a_generator_with_time_to_spare_is_not_blamed() -> None:
    assert client_finding(evidence_of()) is None


@pytest.mark.parametrize(("release_ms", "blamed"), [(100, False), (100.1, True), (1000, True)])
def test_a_release_longer_than_a_tenth_of_the_fastest_response_was_not_at_once(release_ms: float, blamed: bool) -> None:
    finding = client_finding(evidence_of(1000, release_ms=release_ms))
    assert (finding is not None) == blamed
    if finding is not None:
        assert "to release 10 requests" in finding.sentence
        assert finding.evidence["release_ms"] == release_ms
        assert finding.evidence["fastest_ms"] == 1000


def test_the_release_of_a_closed_load_says_nothing() -> None:
    assert client_finding(evidence_of(1, release_ms=50, requests=10, concurrency=5)) is None


@pytest.mark.parametrize(("percent", "blamed"), [(90, False), (90.1, True), (100, True)])
def test_a_busy_core_is_a_bottleneck(percent: float, blamed: bool) -> None:
    finding = client_finding(evidence_of(), replace(IDLE, cpu_percent=percent))
    assert (finding is not None) == blamed


@pytest.mark.parametrize(
    ("fastest_ms", "lag_ms", "blamed"), [(10, 10, False), (10, 10.1, True), (1000, 249, False), (1000, 251, True)]
)
def test_a_late_event_loop_is_a_bottleneck_where_the_response_is_not_much_slower(
    fastest_ms: float, lag_ms: float, blamed: bool
) -> None:
    finding = client_finding(evidence_of(fastest_ms), replace(IDLE, loop_lag_p99_ms=lag_ms))
    assert (finding is not None) == blamed


def test_running_out_of_descriptors_is_the_generators_doing() -> None:
    rows = ok_rows(100) + failed_rows(Outcome.CLIENT, 0, 0)
    finding = client_finding(Evidence(samples_of(rows), concurrency=3))
    assert finding is not None
    assert "2 requests found no free descriptor or port" in finding.sentence
    assert finding.evidence["out_of_descriptors_or_ports"] == 2


def test_a_run_in_which_all_was_refused_blames_nobody_for_its_speed() -> None:
    evidence = Evidence(samples_of(failed_rows(Outcome.REFUSED, 1, 1)), concurrency=2)
    assert client_finding(evidence, ClientUse(100.0, 50.0, 50.0)) is None


def test_all_reasons_are_given_in_one_sentence() -> None:
    finding = client_finding(evidence_of(10, release_ms=5), ClientUse(99.0, 0.1, 0.1))
    assert finding is not None
    assert finding.requests == 10
    assert finding.sentence.count("\n") == 0
    assert finding.sentence.endswith("Do not trust them.")
    assert "99 % of a core busy; it took 5.0 ms to release" in finding.sentence


@pytest.mark.parametrize(
    ("use", "cpus", "named"),
    [
        (replace(IDLE, cpu_percent=99.0), 4, True),
        (replace(IDLE, cpu_percent=99.0), 1, False),
        (replace(IDLE, cpu_percent=99.0, workers=2), 4, True),
        (replace(IDLE, cpu_percent=99.0, workers=4), 4, False),
        (replace(IDLE, cpu_percent=99.0, workers=3, on_this_machine=False), 4, False),
    ],
)
def test_a_slow_generator_is_pointed_at_the_cores_it_does_not_use(use: ClientUse, cpus: int, named: bool) -> None:
    finding = client_finding(replace(evidence_of(), cpus=cpus), use)
    assert finding is not None
    assert finding.sentence.endswith(" --workers 4 shares the load out over 4 cores.") == named


def test_more_cores_do_not_help_where_descriptors_ran_out() -> None:
    evidence = Evidence(samples_of(failed_rows(Outcome.CLIENT, 0, 0)), concurrency=2, cpus=4)
    finding = client_finding(evidence)
    assert finding is not None
    assert "--workers" not in finding.sentence


def test_lost_workers_are_told_apart_from_descriptors_that_ran_out() -> None:
    evidence = Evidence(samples_of(failed_rows(Outcome.CLIENT, 0, 0)), concurrency=2)
    finding = client_finding(evidence, replace(IDLE, workers=3, lost_workers=1, lost_requests=2))
    assert finding is not None
    assert "1 of its 3 workers ended before they had told what came, and 2 requests with them" in finding.sentence
    assert "descriptor" not in finding.sentence
