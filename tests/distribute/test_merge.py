from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.distribute.crew import Delivery, most_shards
from loadgen.distribute.merge import join, merge, skew_of
from loadgen.distribute.shard import Part
from loadgen.outcome import Outcome
from loadgen.plan import Stage, Workload
from loadgen.samples import COLUMNS, MISSING, Recorder, Samples
from loadgen.watch import ClientUse
from tests.loadgen.make import ok_rows, rows, samples_of

QUIET = ClientUse(10.0, 0.5, 1.0)


def as_tuples(samples: Samples) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(samples, name).tolist() for name in COLUMNS), strict=True))


@given(st.lists(st.lists(rows(), max_size=8), min_size=1, max_size=4))
def test_no_row_is_lost_or_changed_and_all_stand_in_the_order_in_which_they_were_due(
    parts: list[list[dict[str, int]]],
) -> None:
    samples = [samples_of(part) for part in parts]
    merged = merge(samples)
    assert sorted(as_tuples(merged)) == sorted(row for part in samples for row in as_tuples(part))
    known = merged.due[merged.due != MISSING]
    assert (np.diff(known) >= 0).all()
    assert (merged.due[: len(known)] != MISSING).all()


@given(st.lists(rows(), max_size=12), st.integers(0, 10**12), st.integers(0, 20))
def test_a_recorder_gives_rows_that_it_took_as_they_were(
    given_rows: list[dict[str, int]], release_ns: int, room: int
) -> None:
    samples = samples_of(given_rows)
    recorder = Recorder(room, has_due_times=True)
    recorder.release(release_ns)
    recorder.take(samples)
    assert as_tuples(recorder.samples()) == as_tuples(samples)


def test_what_a_lost_worker_was_to_carry_out_has_failed_on_this_side() -> None:
    delivery = Delivery(0, (Part(samples_of(ok_rows(1, 2)), QUIET), None, Part(samples_of(ok_rows(3, 4)), QUIET)))
    samples, use = join(Workload(7, 7), delivery, 10**9)
    assert len(samples) == 6  # 7 are dealt out as 3, 2 and 2, and the first part here has but 2
    assert np.count_nonzero(samples.outcome == Outcome.CLIENT) == 2
    assert (use.workers, use.lost_workers, use.lost_requests) == (3, 1, 2)
    assert not samples.has_targets


def test_what_a_lost_worker_was_to_carry_out_is_no_target_s() -> None:
    part = Part(samples_of([{"target": 1}, {"target": 2}]), QUIET)
    samples, _ = join(Workload(4, 4), Delivery(0, (part, None)), 10**9, has_targets=True)
    assert samples.target.tolist() == [1, 2, MISSING, MISSING]


@pytest.mark.parametrize(("until_s", "lost"), [(0.5, 26), (60, 50)])
def test_of_a_lost_open_shard_what_had_been_due_by_then_is_lost(until_s: float, lost: int) -> None:
    workload = Workload(None, 100, stages=(Stage(1, 100, 100),), is_open=True)
    samples, use = join(workload, Delivery(0, (None, Part(samples_of([]), QUIET))), round(until_s * 1e9))
    assert len(samples) == use.lost_requests == lost


def test_the_worst_worker_is_what_is_judged() -> None:
    part = samples_of(ok_rows(1))
    delivery = Delivery(0, (Part(part, ClientUse(95.0, 0.1, 0.2)), Part(part, ClientUse(20.0, 3.0, 9.0))))
    _, use = join(Workload(2, 2), delivery, 0)
    assert (use.cpu_percent, use.all_cpu_percent, use.loop_lag_p99_ms, use.loop_lag_max_ms) == (95.0, 115.0, 3.0, 9.0)


def test_processes_have_one_clock_and_clusters_are_told_how_far_theirs_are_apart() -> None:
    first = Part(samples_of([{"due": 1_000, "begun": 1_000}]), QUIET)
    second = Part(samples_of([{"due": 4_000, "begun": 4_000}, {"due": 9_000, "begun": 9_000}]), QUIET)
    assert skew_of(Delivery(0, (first, second))) is None
    skew = skew_of(Delivery(0, (first, second), "tcp://h:1", 250))
    assert skew is not None
    assert (skew.workers, skew.clock_uncertainty_ns, skew.release_spread_ns) == (2, 250, 3_000)


def test_the_spread_of_an_open_load_is_in_how_late_each_began() -> None:
    first = Part(samples_of([{"due": 0, "begun": 1_000}]), QUIET)
    second = Part(samples_of([{"due": 500_000, "begun": 500_200}]), QUIET)
    skew = skew_of(Delivery(0, (first, second), "tcp://h:1", 250))
    assert skew is not None
    assert skew.release_spread_ns == 800


@pytest.mark.parametrize(
    ("workload", "most"),
    [
        (Workload(3, 3), 3),
        (Workload(100, 2), 2),
        (Workload(None, 50, stages=(Stage(1, 4, 4),), is_open=True), 4),
        (Workload(None, 2, stages=(Stage(1, 4, 4),), is_open=True), 2),
    ],
)
def test_a_workload_is_dealt_to_no_more_than_get_something_to_do(workload: Workload, most: int) -> None:
    assert most_shards(workload) == most
