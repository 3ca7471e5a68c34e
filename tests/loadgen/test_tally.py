from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.histogram import RELATIVE_ERROR, Histogram, bucket_of, middle_of
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Samples, joined
from loadgen.summary import NS_PER_MS, NS_PER_S, Lateness, TargetSummary, Times, most_at_once, summarize
from loadgen.tally import Tally, seconds_of
from loadgen.target_tally import MOST_TIMED
from tests.loadgen.make import Row, any_samples, failed_rows, ok_rows, rows, samples_of

MOST_NS = 24 * 3600 * NS_PER_S
times_ns = st.integers(0, MOST_NS) | st.integers(0, 5_000_000)
HALF_A_NS = 0.5


def histogram_of(values: Sequence[int]) -> Histogram:
    histogram = Histogram()
    histogram.add(np.array(values, dtype=np.int64))
    return histogram


def tally_of(parts: Sequence[Samples], *, over_ms: int = 1500, is_open: bool = False) -> Tally:
    tally = Tally(over_ms=over_ms, is_open=is_open)
    for part in parts:
        tally.add(part)
    tally.settle()
    return tally


@given(times_ns)
def test_the_middle_of_a_bucket_is_near_each_of_its_values(value: int) -> None:
    (bucket,) = bucket_of(np.array([value])).tolist()
    assert abs(middle_of(bucket) - value) <= max(HALF_A_NS, RELATIVE_ERROR * value)


@given(st.lists(times_ns, min_size=1))
def test_buckets_are_in_the_order_of_their_values(values: list[int]) -> None:
    buckets = bucket_of(np.array(sorted(values)))
    assert (np.diff(buckets) >= 0).all()


@given(st.lists(times_ns, min_size=1, max_size=200))
def test_figures_are_within_a_thousandth_of_the_exact_ones(values: list[int]) -> None:
    exact, found = Times.of(np.array(values)), histogram_of(values).times()
    assert found is not None
    assert (found.min_ns, found.max_ns) == (exact.min_ns, exact.max_ns)
    assert found.mean_ns == pytest.approx(exact.mean_ns)
    for name in ("p50_ns", "p90_ns", "p95_ns", "p99_ns"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=1e-3, abs=HALF_A_NS)


@given(st.lists(times_ns, min_size=1, max_size=100), st.lists(times_ns, max_size=100))
def test_merged_histograms_are_the_histogram_of_both(one: list[int], other: list[int]) -> None:
    merged = histogram_of(one)
    merged.merge(histogram_of(other))
    assert merged.times() == histogram_of(one + other).times()


@given(st.lists(st.integers(1, MOST_NS), min_size=1, max_size=50))
def test_the_library_puts_each_value_into_the_same_bucket(values: list[int]) -> None:
    from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

    theirs = HdrHistogram(1, 2**47 - 1, 3)
    for value in values:
        theirs.record_value(value)
    assert theirs.equals(histogram_of(values).to_hdr())


@given(st.lists(any_samples(), min_size=1, max_size=4), st.booleans(), st.integers(1, 10**6))
def test_a_tally_of_parts_gives_the_summary_of_the_whole(parts: list[Samples], is_open: bool, over_ms: int) -> None:
    whole = joined(parts)
    exact = summarize(whole, concurrency=3, over_ms=over_ms, is_open=is_open)
    found = tally_of(parts, over_ms=over_ms, is_open=is_open).summary(concurrency=3, release_ns=None)
    for name in ("requests", "ok", "failed", "failures", "statuses", "wall_ns", "over", "resent", "bytes_in"):
        assert getattr(found, name) == getattr(exact, name), name
    assert (found.times is None) == (exact.times is None)
    assert not found.is_exact
    assert exact.is_exact
    if exact.lateness is not None:
        assert found.lateness == Lateness(exact.lateness.p50_ns, exact.lateness.p99_ns, exact.lateness.max_ns)


@given(st.lists(any_samples(), min_size=2, max_size=4), st.booleans())
def test_merged_tallies_count_what_both_have_counted(parts: list[Samples], is_open: bool) -> None:
    merged = tally_of(parts[:1], is_open=is_open)
    merged.merge(tally_of(parts[1:], is_open=is_open))
    both = tally_of(parts, is_open=is_open)
    assert merged.response.times() == both.response.times()
    for name in ("requests", "outcomes", "statuses", "capped", "over", "resent", "bytes_in", "last_done_ns"):
        assert getattr(merged, name) == getattr(both, name), name
    figures = [[(second.number, second.ok, second.failed) for second in tally.seconds] for tally in (merged, both)]
    assert figures[0] == figures[1]


@st.composite
def rows_of_targets(draw: st.DrawFn) -> Row:
    return draw(rows()) | {"target": draw(st.integers(1, 3))}


@given(st.lists(st.lists(rows_of_targets(), max_size=8), max_size=5), st.integers(0, 4))
def test_each_target_is_counted_by_itself(lots: list[list[Row]], at: int) -> None:
    parts = [samples_of(lot) for lot in lots]
    tallies = [Tally(over_ms=1, is_open=False, targets=3) for _ in range(2)]
    for tally, mine in zip(tallies, (parts[:at], parts[at:]), strict=True):
        for part in mine:
            tally.add(part)
    tallies[0].merge(tallies[1])
    found = tallies[0].summary(concurrency=1, release_ns=None).targets
    whole = joined([samples_of([]), *parts])
    for number, figures in enumerate(found, start=1):
        exact = TargetSummary.of(whole, number)
        assert (figures.requests, figures.ok, figures.failures) == (exact.requests, exact.ok, exact.failures)
        times = histogram_of(whole.response_ns[whole.ok & (whole.target == number)].tolist()).times()
        assert figures.times == times
    assert len(found) == 3


def test_of_very_many_targets_requests_are_counted_and_not_timed() -> None:
    tally = Tally(over_ms=1, is_open=False, targets=MOST_TIMED + 1)
    tally.add(samples_of([{"target": MOST_TIMED + 1, "done": 5}, {"target": 1, "outcome": int(Outcome.RESET)}]))
    first, *_, last = tally.summary(concurrency=1, release_ns=None).targets
    assert (first.requests, first.ok, first.failures) == (1, 0, {Outcome.RESET: 1})
    assert (last.requests, last.ok, last.times) == (1, 1, None)


def test_each_second_has_the_requests_that_ended_in_it() -> None:
    rows = [*ok_rows(10, 990, 1010, 3500), *failed_rows(Outcome.RESET, 3600)]
    seconds = seconds_of(samples_of(rows))
    assert [(second.number, second.ok, second.failed) for second in seconds] == [(0, 2, 0), (1, 1, 0), (3, 1, 1)]
    assert [second.max_ns for second in seconds] == [990 * NS_PER_MS, 1010 * NS_PER_MS, 3500 * NS_PER_MS]


def test_a_second_is_settled_only_when_it_has_passed() -> None:
    tally = Tally(over_ms=1500, is_open=False)
    tally.add(samples_of(ok_rows(10, 1500)))
    tally.settle(1500 * NS_PER_MS)
    assert [second.number for second in tally.seconds] == [0]
    tally.add(samples_of(ok_rows(1600)))
    tally.settle()
    assert [(second.number, second.ok) for second in tally.seconds] == [(0, 1), (1, 2)]


def test_requests_at_the_cap_are_told_from_those_without_a_descriptor() -> None:
    at_cap = {"begun": MISSING, "connected": MISSING, "first_byte": MISSING, "status": MISSING}
    rows = [row | at_cap for row in failed_rows(Outcome.CLIENT, 1, 2)] + failed_rows(Outcome.CLIENT, 3)
    tally = tally_of([samples_of(rows)], is_open=True)
    assert (tally.capped, tally.outcomes[Outcome.CLIENT]) == (2, 3)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=12))
def test_most_at_once_is_the_most_at_any_moment(pairs: list[tuple[int, int]]) -> None:
    intervals = [(begin, begin + length) for begin, length in pairs]
    most = max((sum(begin <= at < end for begin, end in intervals) for at in range(41)), default=0)
    begin, end = (np.array([pair[side] for pair in intervals], dtype=np.int64) for side in (0, 1))
    assert most_at_once(begin, end) == most
