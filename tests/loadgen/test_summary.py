from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.outcome import Outcome
from loadgen.samples import COLUMNS, MISSING, Recorder, Samples
from loadgen.summary import NS_PER_MS, NS_PER_S, Durations, Times, percentile, summarize
from tests.loadgen.make import any_samples, failed_rows, ok_rows, samples_of, timed, timed_samples

HUNDREDTHS = (50, 90, 95, 99)


def by_definition(values: list[int], q: Fraction) -> int:
    return sorted(values)[min(len(values) - 1, math.floor(q * len(values)))]


@given(st.lists(st.integers(0, 10**15), min_size=1))
def test_each_percentile_is_the_one_by_the_definition(values: list[int]) -> None:
    times = Times.of(np.array(values, dtype=np.int64))
    shown = [times.p50_ns, times.p90_ns, times.p95_ns, times.p99_ns]
    assert shown == [by_definition(values, Fraction(q, 100)) for q in HUNDREDTHS]
    assert (times.min_ns, times.max_ns) == (min(values), max(values))
    assert times.mean_ns == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("q", HUNDREDTHS)
def test_no_rounding_of_a_float_moves_a_percentile_to_another_index(q: int) -> None:
    for n in range(1, 20_001):
        assert percentile(range(n), q / 100) == min(n - 1, q * n // 100)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 10**15), min_size=1), st.floats(0, 1))
def test_a_percentile_is_a_value_that_occurred(values: list[int], q: float) -> None:
    assert percentile(np.sort(np.array(values)), q) in values


def test_the_median_of_two_waves_of_200_is_of_the_second() -> None:
    summary = summarize(samples_of(ok_rows(*[1000] * 200, *[2000] * 200)), concurrency=400, over_ms=1500)
    assert summary.times is not None
    assert summary.times.p50_ns == 2000 * NS_PER_MS
    assert summary.over == 200


def test_the_median_of_a_staircase_of_20_is_the_11th() -> None:
    summary = summarize(samples_of(ok_rows(*(100 * step for step in range(20, 0, -1)))), concurrency=20, over_ms=1500)
    assert summary.times is not None
    assert summary.times.p50_ns == 1100 * NS_PER_MS
    assert summary.over == 5


def test_a_single_request_is_every_percentile() -> None:
    times = Times.of(np.array([7]))
    assert times == Times(7, 7, 7, 7, 7, 7, 7.0)


@given(any_samples(), st.integers(1, 10**6))
def test_requests_are_the_ok_and_the_failed_ones_and_each_failed_one_has_one_class(
    samples: Samples, over_ms: int
) -> None:
    summary = summarize(samples, concurrency=len(samples), over_ms=over_ms)
    assert summary.requests == len(samples) == summary.ok + summary.failed
    assert summary.failed == sum(summary.failures.values())
    assert Outcome.OK not in summary.failures
    assert all(summary.failures.values())


@given(any_samples(), st.integers(1, 10**6))
def test_late_counts_every_request_that_took_longer_failed_or_not(samples: Samples, over_ms: int) -> None:
    rows = zip(samples.due.tolist(), samples.done.tolist(), strict=True)
    late = sum(MISSING not in (due, done) and done - due > over_ms * NS_PER_MS for due, done in rows)
    assert summarize(samples, concurrency=1, over_ms=over_ms).over == late


def test_a_request_is_late_above_the_threshold_and_not_at_it() -> None:
    late = ok_rows(1500) + failed_rows(Outcome.TIMEOUT, 1500.001)
    assert summarize(samples_of(late), concurrency=2, over_ms=1500).over == 1


@given(any_samples())
def test_wall_is_the_last_completion_of_all_failed_ones_included(samples: Samples) -> None:
    ended = [done for done in samples.done.tolist() if done != MISSING]
    summary = summarize(samples, concurrency=1, over_ms=1500)
    assert summary.wall_ns == (max(ended) if ended else None)
    if summary.wall_ns:
        assert summary.throughput_rps == pytest.approx(summary.ok / summary.wall_ns * NS_PER_S)
    else:
        assert summary.throughput_rps is None


@given(any_samples())
def test_the_times_are_those_of_the_ok_requests_alone(samples: Samples) -> None:
    summary = summarize(samples, concurrency=1, over_ms=1500)
    ok = (samples.done - samples.due)[samples.outcome == Outcome.OK]
    assert summary.times == (Times.of(ok) if len(ok) else None)


def test_a_request_that_never_began_counts_as_no_time_at_all() -> None:
    never = dict.fromkeys(("due", "begun", "connected", "first_byte", "done", "status", "resent"), MISSING)
    samples = samples_of([*ok_rows(10, 20), never | {"outcome": int(Outcome.CANCELLED)}])
    summary = summarize(samples, concurrency=3, over_ms=5)
    assert (summary.requests, summary.ok, summary.failures) == (3, 2, {Outcome.CANCELLED: 1})
    assert summary.times is not None
    assert summary.times.min_ns == 10 * NS_PER_MS
    assert summary.over == 2
    assert samples.response_ns.tolist() == [10 * NS_PER_MS, 20 * NS_PER_MS, MISSING]


def test_where_nothing_began_no_figure_has_a_value() -> None:
    samples = Recorder(3).samples()
    summary = summarize(samples, concurrency=3, over_ms=1500)
    assert summary.failures == {Outcome.CANCELLED: 3}
    assert (summary.wall_ns, summary.times, summary.release_ns, summary.resent) == (None, None, None, None)
    assert (summary.over, summary.bytes_in, summary.throughput_rps) == (0, 0, None)


def test_where_all_failed_there_are_no_times() -> None:
    summary = summarize(samples_of(failed_rows(Outcome.REFUSED, 1, 2)), concurrency=2, over_ms=1500)
    assert summary.times is None
    assert summary.throughput_rps == 0


@pytest.mark.parametrize(
    ("resent", "expected"), [([MISSING, MISSING], None), ([0, 0], 0), ([MISSING, 0], 0), ([3, 0], 1), ([MISSING, 2], 1)]
)
def test_resent_counts_requests_and_has_no_value_where_the_platform_tells_of_none(
    resent: list[int], expected: int | None
) -> None:
    samples = samples_of([{"resent": value} for value in resent])
    assert summarize(samples, concurrency=2, over_ms=1500).resent == expected


def test_the_release_is_first_to_last_of_those_released_together() -> None:
    samples = samples_of([{"due": at, "begun": at, "done": at + 5} for at in (3, 0, 9, 40)])
    assert summarize(samples, concurrency=3, over_ms=1500).release_ns == 9
    assert summarize(samples, concurrency=4, over_ms=1500).release_ns == 40


def test_bytes_are_summed_over_all_requests() -> None:
    samples = samples_of([{"bytes_in": 2**40}, {"bytes_in": 5, "outcome": int(Outcome.PROTOCOL)}])
    assert summarize(samples, concurrency=2, over_ms=1500).bytes_in == 2**40 + 5


def test_a_recorder_gives_times_from_the_release_and_keeps_missing_ones_missing() -> None:
    recorder = Recorder(3)
    release = recorder.release()
    recorder.due[0] = recorder.begun[0] = release + 5
    recorder.done[0] = release + 25
    recorder.outcome[0] = Outcome.OK
    recorder.due[1] = recorder.begun[1] = release + 6
    samples = recorder.samples()
    assert samples.due.tolist() == [5, 6, MISSING]
    assert samples.done[0] == 25
    assert samples.done[1] > 6, "begun and not ended: cancelled, now"
    assert samples.done[2] == MISSING
    assert samples.connected.tolist() == [MISSING] * 3
    assert samples.outcome.tolist() == [Outcome.OK, Outcome.CANCELLED, Outcome.CANCELLED]


def test_a_recorder_takes_no_more_than_60_bytes_a_request() -> None:
    recorder = Recorder(1000)
    columns = {id(column): column for column in (getattr(recorder, name) for name in COLUMNS)}
    assert sum(column.itemsize for column in columns.values()) <= 60


def test_a_summary_is_a_value() -> None:
    summary = summarize(samples_of(ok_rows(1)), concurrency=1, over_ms=1500)
    assert replace(summary) == summary


def test_the_servers_own_figures_are_of_the_ok_requests_that_have_them() -> None:
    samples = samples_of(ok_rows(9, 9, 9, 9) + failed_rows(Outcome.HTTP_5XX, 9))
    summary = summarize(
        timed(samples, acquire=[0, 4, None, None, 99], work=[7, 5, 6, None, 99], late=[None] * 4 + [1]),
        concurrency=5,
        over_ms=1500,
    )
    ms = NS_PER_MS
    assert summary.server_timing == {
        "acquire": Durations(p50_ns=4 * ms, p99_ns=4 * ms, max_ns=4 * ms, count=2),
        "work": Durations(p50_ns=6 * ms, p99_ns=7 * ms, max_ns=7 * ms, count=3),
    }
    assert summary.with_server_timing == 3


@given(timed_samples())
def test_no_figure_of_the_servers_is_made_up(samples: Samples) -> None:
    summary = summarize(samples, concurrency=len(samples), over_ms=1500)
    assert summary.with_server_timing <= summary.ok
    for name, took in summary.server_timing.items():
        given_ns = samples.server_timing[name][samples.ok & (samples.server_timing[name] != MISSING)]
        assert {took.p50_ns, took.p99_ns, took.max_ns} <= set(given_ns.tolist())
        assert (took.max_ns, took.count) == (given_ns.max(), len(given_ns))
        assert took.count <= summary.with_server_timing
