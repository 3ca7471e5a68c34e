"""Limits whose waves do not fit into the time that there was are none."""

from __future__ import annotations

import numpy as np
import pytest

from loadgen.explain import Evidence, Finding, explain
from loadgen.explain.runs import limited_by
from tests.loadgen.make import ok_rows, samples_of


def finding_of(times_ms: list[float]) -> Finding:
    (finding,) = explain(Evidence(samples_of(ok_rows(*times_ms)), len(times_ms)))
    return finding


def test_two_waves_that_do_not_fit_into_the_wall_are_no_limit() -> None:
    """Sleeps of 1 s, of which the last ones began late on a busy machine."""
    random = np.random.default_rng(7)
    times = [*random.uniform(1_005, 1_150, 274), *random.uniform(1_480, 1_747, 126)]
    finding = finding_of(times)
    assert finding.cause == "overlapped"
    later = finding_of([*times[:274], *(ms + 600 for ms in times[274:])])
    assert (later.cause, later.details["limit"]) == ("concurrency-limit", 274)


@pytest.mark.parametrize(
    ("times_ms", "limit"),
    [
        ([1_005, 1_030, 1_040, 1_063], None),  # one after another, or three and one, needs 2 s
        ([500, 720], None),  # two waves of one take 1 s
        ([500, 530, 560], None),
        ([500, 1_010], 1),
        ([305, 306, 307, 308, 309, 608], 5),
        ([1_001, 1_002, 1_003, 2_004], 3),
    ],
)
def test_a_limit_that_few_requests_leave_possible_fits_into_the_wall(times_ms: list[float], limit: int | None) -> None:
    finding = finding_of(times_ms)
    assert finding.cause == "overlapped"
    assert finding.evidence.get("possible_limit") == limit
    assert ("too few requests to tell" in finding.sentence) is (limit is not None)


def test_a_cold_first_wave_is_slower_than_the_second() -> None:
    finding = finding_of([1_500.0] * 50 + [2_500.0] * 50)
    assert (finding.cause, finding.details["limit"]) == ("concurrency-limit", 50)


def test_a_limit_that_may_be_is_told_over_the_runs() -> None:
    doubted, free = finding_of([305, 306, 307, 308, 309, 608]), finding_of([300, 301, 302, 303, 304, 305])
    assert limited_by([(doubted,), (doubted,)]) == "no limit met, or one of 5"
    assert limited_by([(doubted,), (free,)]) == "no limit met"
