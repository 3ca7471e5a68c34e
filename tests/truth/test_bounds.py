"""A finding must not make anybody wait. Speeds as such stand in docs/truth.md; these bounds are generous."""

from __future__ import annotations

import pytest

from tests.truth.bounds import timings

GENEROUS = 3.0


@pytest.mark.parametrize("requests", [10_000, 1_000_000])
def test_explaining_is_quick(requests: int) -> None:
    for timing in timings(requests, repeats=1, kinds=("burst, blurred", "users in waves")):
        assert timing.took_ms < GENEROUS * timing.bound_ms, timing
