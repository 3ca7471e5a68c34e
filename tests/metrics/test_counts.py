"""Counting rows: exact figures, also in mid-run and where rows are handed over."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loadgen.metrics.collector import RunMetrics, _native
from loadgen.metrics.counts import BOUNDS_MS, FIRST_INDEX, SCHEMA, Counts
from loadgen.outcome import Outcome
from loadgen.samples import Block, Recorder
from loadgen.summary import NS_PER_MS, NS_PER_S

MOST_NS = 100_000 * NS_PER_S


def counted(times_ns: list[int]) -> Counts:
    counts, n = Counts(), len(times_ns)
    counts.add(np.full(n, Outcome.OK, dtype=np.int8), np.array(times_ns, dtype=np.int64), np.zeros(n, dtype=np.int16))
    return counts


@given(st.integers(1_000, MOST_NS))
def test_a_time_is_in_the_bucket_whose_bounds_hold_it(time_ns: int) -> None:
    counts = counted([time_ns])
    (index,) = counts.native.nonzero()[0] + FIRST_INDEX
    # The logarithm of a bound itself is exact to the last digits alone.
    assert 2 ** ((index - 1) / 2**SCHEMA) * (1 - 1e-9) < time_ns / NS_PER_S <= 2 ** (index / 2**SCHEMA) * (1 + 1e-9)
    (place,) = counts.classic.nonzero()[0]
    bounds = [0, *BOUNDS_MS, float("inf")]
    assert bounds[place] < time_ns / NS_PER_MS <= bounds[place + 1]


def test_a_time_that_is_a_bound_is_in_the_bucket_below_it() -> None:
    counts = counted([int(bound * NS_PER_MS) for bound in BOUNDS_MS])
    assert counts.classic.tolist() == [1] * len(BOUNDS_MS) + [0]


@given(st.lists(st.integers(0, MOST_NS), max_size=50))
def test_spans_and_differences_give_the_buckets_again(times_ns: list[int]) -> None:
    counts = counted(times_ns)
    native = _native(counts)
    index, count, found = 0, 0, {}
    deltas = iter(native.pos_deltas or ())
    for offset, length in native.pos_spans or ():
        index += offset
        for _ in range(length):
            count += next(deltas)
            found[index] = count
            index += 1
    assert not list(deltas)
    assert found == {place + FIRST_INDEX: counts.native[place] for place in counts.native.nonzero()[0].tolist()}
    assert native.count_value == len(times_ns)


def write(recorder: Recorder, row: int, took_ms: int | None, outcome: Outcome = Outcome.OK) -> None:
    recorder.begun[row] = 1_000
    if took_ms is not None:
        recorder.done[row] = 1_000 + took_ms * NS_PER_MS
        recorder.outcome[row] = outcome


def figures(metrics: RunMetrics) -> dict[str, float]:
    """What a scrape in a thread gets, the event loop ticking meanwhile."""
    got: list[dict[str, float]] = []

    def scrape() -> None:
        found = [sample for family in metrics.families() for sample in family.samples]
        got.append({"".join([sample.name, *sample.labels.values()]): sample.value for sample in found})

    thread = threading.Thread(target=scrape)
    thread.start()
    while thread.is_alive():
        metrics.tick()
        thread.join(0.001)
    return got[0]


def test_a_scrape_in_mid_run_counts_what_has_ended() -> None:
    metrics, recorder = RunMetrics(), Recorder(10)
    metrics.begin(1, recorder)
    recorder.release(1_000)
    write(recorder, 0, 5)
    write(recorder, 1, 7, Outcome.HTTP_5XX)
    write(recorder, 2, None)
    got = figures(metrics)
    assert (got["loadgen_requests_totalok"], got["loadgen_requests_totalhttp-5xx"]) == (1, 1)
    assert (got["loadgen_requests_totalcancelled"], got["loadgen_in_flight"]) == (0, 1)
    assert got["loadgen_response_time_seconds_sum"] == 0.005
    below = [got[f"loadgen_response_time_seconds_bucket{bound}"] for bound in ("0.0025", "0.005", "+Inf")]
    assert below == [0, 1, got["loadgen_response_time_seconds_count"]] == [0, 1, 1]


def test_rows_on_their_way_to_be_put_away_do_not_make_a_counter_go_back() -> None:
    waiting: list[Block] = []
    metrics, recorder = RunMetrics(), Recorder(10, fold=waiting.append)
    metrics.begin(1, recorder)
    recorder.release(1_000)
    for row in range(4):
        write(recorder, row, 5)
    write(recorder, 4, None)
    assert figures(metrics)["loadgen_requests_totalok"] == 4
    recorder.fold([4], 5)
    got = figures(metrics)
    assert (got["loadgen_requests_totalok"], got["loadgen_in_flight"]) == (4, 1)
    (block,) = waiting
    metrics.take(1, block.samples(0, 4))
    write(recorder, 0, 5)
    got = figures(metrics)
    assert (got["loadgen_requests_totalok"], got["loadgen_in_flight"]) == (5, 0)
    assert got["loadgen_response_time_seconds_sum"] == 0.025
