"""Waits that overlap, followed by work that is done one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.explain import Evidence, Finding, explain
from tests.loadgen.make import ok_rows, samples_of


def shape(times_ms: list[float]) -> Finding:
    findings = explain(Evidence(samples_of(ok_rows(*times_ms)), concurrency=len(times_ms)))
    return next(f for f in findings if f.cause in ("serial", "overlapped", "concurrency-limit", "cpu-shared"))


@given(st.integers(12, 300), st.floats(50, 2000), st.floats(5, 60), st.integers(0, 2**31))
def test_a_wait_and_then_one_at_a_time_is_no_limit_of_several(
    n: int, wait_ms: float, each_ms: float, seed: int
) -> None:
    gaps = each_ms * np.random.default_rng(seed).uniform(0.9, 1.1, n)
    found = shape((wait_ms + np.cumsum(gaps)).tolist())
    if wait_ms > 2 * each_ms and n * each_ms > wait_ms:
        assert found.cause == "serial"
        assert found.details["limit"] == 1
        assert found.details["service_ms"] == pytest.approx(each_ms, rel=0.1)
        assert "in which they waited side by side" in found.sentence


@given(st.integers(2, 40), st.integers(2, 12), st.floats(50, 1000), st.floats(0, 0.3), st.integers(0, 2**31))
def test_places_are_not_taken_for_two_stages(limit: int, waves: int, ms: float, jitter: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    free, done = [0.0] * limit, []
    for _ in range(limit * waves):
        begun = min(free)
        free.remove(begun)
        free.append(begun + ms * random.uniform(1 - jitter, 1 + jitter))
        done.append(free[-1])
    assert "side by side" not in shape(done).sentence or shape(done).cause == "overlapped"
