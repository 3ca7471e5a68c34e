"""The order in which a server takes requests is not always the one in which the generator notes them as connected."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from loadgen.explain import Evidence, Finding, explain
from loadgen.outcome import Outcome
from loadgen.samples import Samples
from tests.loadgen.make import samples_of

US = 1_000
MS = 1_000_000

NOTED = (
    1, 2, 4, 6, 8, 10, 12, 14, 0, 16, 17, 18, 19, 21, 3, 23, 25, 5, 27, 28, 7, 30, 32, 9, 34, 11, 13, 15, 20, 22,
    24, 26, 29, 31, 33, 35, 36, 37, 38, 39,
)  # fmt: skip
"""The order in which two processes noted 40 connections, as seen on a machine whose CPUs were lost for moments."""


def finding_of(samples: Samples) -> Finding:
    (finding,) = explain(Evidence(samples, len(samples)))
    return finding


def noted_late(taken: list[int]) -> Samples:
    """Waves of 20 x 500 ms in the order in which rows are taken; connections are noted in the order of NOTED."""
    wave = np.argsort(taken) // 20
    rows = [
        {
            "begun": 20 * US * row,
            "connected": 20 * US * (40 + NOTED.index(row)),
            "done": 500 * MS * (1 + int(wave[row])),
        }
        for row in range(40)
    ]
    return samples_of([{**row, "done": row["done"] + row["connected"]} for row in rows])


@pytest.mark.parametrize("taken", [list(range(40)), list(NOTED)], ids=["as begun", "as noted"])
def test_waves_are_found_whether_taken_as_begun_or_as_noted(taken: list[int]) -> None:
    finding = finding_of(noted_late(taken))
    assert (finding.cause, finding.details["limit"], finding.details["waves"]) == ("concurrency-limit", 20, [20, 20])


def test_no_waves_are_found_in_neither_order() -> None:
    shuffled = np.random.default_rng(3).permutation(40).tolist()
    assert finding_of(noted_late(shuffled)).cause == "overlapped"


def test_rows_of_which_nothing_was_noted_do_not_matter() -> None:
    samples = noted_late(list(range(40)))
    samples.outcome[-1] = Outcome.CONNECT_TIMEOUT
    samples.connected[-1] = samples.first_byte[-1] = -1
    causes = {finding.cause for finding in explain(Evidence(samples, 40))}
    assert "concurrency-limit" in causes


@pytest.mark.parametrize("seed", range(12))
def test_a_limit_is_found_where_an_event_loop_took_whole_stretches_in_another_order(seed: int) -> None:
    """What came while the loop was accepting was read first: seen on a server with 40 places of 50 to 150 ms."""
    random = np.random.default_rng(seed)
    taken = np.roll(np.arange(300), -int(random.integers(30, 150)))
    free, done = np.zeros(40), np.zeros(300)
    for row in taken:
        place = int(np.argmin(free))
        free[place] += random.uniform(50, 150)
        done[row] = free[place]
    finding = finding_of(burst_of(done))
    assert finding.cause == "concurrency-limit"
    assert 34 <= finding.details["limit"] <= 46


@pytest.mark.parametrize("seed", range(12))
def test_no_limit_is_found_where_waits_differ_by_themselves(seed: int) -> None:
    times = np.random.default_rng(seed).uniform(50, 800, 300)
    assert finding_of(burst_of(times)).cause == "overlapped"


def burst_of(done_ms: NDArray[np.float64]) -> Samples:
    return samples_of(
        [
            {"begun": 12 * US * row, "connected": 12 * US * row + 30 * US, "done": round(ms * MS) + 12 * US * row}
            for row, ms in enumerate(done_ms.tolist())
        ]
    )
