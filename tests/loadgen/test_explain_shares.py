"""Servers of several processes among which requests are dealt by chance."""

from __future__ import annotations

import pytest

from loadgen.explain import Evidence, explain
from tests.loadgen.make import ok_rows, samples_of


@pytest.mark.parametrize(
    ("times_ms", "doubted"),
    [
        ([200] * 4 + [400] * 3 + [602] * 2 + [805] * 2 + [1_004, 1_205, 1_400, 1_606, 1_803], True),
        ([200] * 14 + [401, 402], True),
        ([200] * 12 + [240, 260, 280, 290], False),
        ([200, 290, 310, 350, 430, 470, 580, 590, 640, 730, 750, 830, 870, 960, 990, 1050], False),
    ],
)
def test_times_in_whole_turns_without_a_common_limit_are_doubted(times_ms: list[float], doubted: bool) -> None:
    # In an order that no queue makes: which process gets a connection is chance.
    shuffled = times_ms[::2] + times_ms[1::2][::-1]
    findings = explain(Evidence(samples_of(ok_rows(*shuffled)), concurrency=len(shuffled)))
    told = [finding for finding in findings if finding.cause == "overlapped"]
    assert all(("several processes" in finding.sentence) is doubted for finding in told)
    assert told or doubted
