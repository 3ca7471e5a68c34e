"""Whether arrivals are those of one rate: of a ramp nothing is said that supposes one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from loadgen.explain.backlog import Backlog
from tests.loadgen.make import samples_of


def backlog_of(due_s: NDArray[np.float64]) -> Backlog:
    due_ns = np.round(due_s * 1e9).astype(np.int64).tolist()
    backlog = Backlog.of(
        samples_of([{"due": at, "begun": at, "connected": at, "done": at + 1_000_000} for at in due_ns])
    )
    assert backlog is not None
    return backlog


@pytest.mark.parametrize("requests", [100, 310, 5_000])
def test_a_ramp_is_not_even(requests: int) -> None:
    assert not backlog_of(2 * np.sqrt(np.arange(requests) / requests)).is_even


@pytest.mark.parametrize("seed", range(60))
def test_one_rate_is_even_however_it_is_drawn(seed: int) -> None:
    random = np.random.default_rng(seed)
    requests = int(random.integers(100, 5_000))
    assert backlog_of(np.cumsum(random.exponential(0.01, requests))).is_even


@pytest.mark.parametrize("requests", [100, 101, 5_000])
def test_a_constant_rate_is_even(requests: int) -> None:
    assert backlog_of(np.arange(requests) / 100).is_even
