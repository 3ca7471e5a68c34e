"""When requests are due, and how many users there are when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import UsageError
from loadgen.schedule import Arrivals, Shard, UserChange, make_schedule
from loadgen.workload import Stage, Workload

NS = 1_000_000_000


def due_of(arrivals: Arrivals) -> list[int]:
    return [due for block in arrivals.blocks() for due in block.tolist()]


def areas_before(stages: Sequence[Stage], at_s: float) -> float:
    """The level added up until a moment: the definition, stage by stage."""
    area = 0.0
    for stage in stages:
        within = min(at_s, stage.duration_s)
        area += within * (stage.first + (stage.last - stage.first) * within / stage.duration_s / 2)
        at_s -= within
    return area


def rates(most: float = 500.0) -> st.SearchStrategy[float]:
    return st.just(0.0) | st.floats(0.1, most)


def stage_lists(level: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Stage, ...]]:
    one = st.builds(Stage, st.floats(0.05, 10), level, level)
    return st.lists(one, min_size=1, max_size=4).map(tuple).filter(lambda stages: any(stage.area for stage in stages))


# Arrivals


@given(stage_lists(rates()))
def test_as_many_are_due_as_the_rate_adds_up_to_each_when_its_number_is_reached(stages: tuple[Stage, ...]) -> None:
    arrivals = Arrivals(stages)
    due = due_of(arrivals)

    assert abs(len(due) - sum(stage.area for stage in stages)) < 1 + 1e-6
    assert arrivals.expected == len(due)
    assert due == sorted(due)
    assert due[0] >= 0
    assert due[-1] <= sum(stage.duration_s for stage in stages) * NS + 1
    for number, due_ns in list(enumerate(due))[:: max(1, len(due) // 50)]:
        # A nanosecond off at 500/s, and where the rate is near 0 the number hardly depends on the moment.
        assert areas_before(stages, due_ns / NS) == pytest.approx(number, abs=1e-4)


@given(st.floats(0.5, 20_000), st.integers(1, 5000))
def test_a_held_rate_has_equal_gaps_and_begins_at_once(rate: float, requests: int) -> None:
    due = due_of(Arrivals((Stage(requests / rate, rate, rate),))) if requests / rate < 86_400 else [0]

    assert due[0] == 0
    assert np.abs(np.diff(due) - NS / rate).max(initial=0) <= 1
    assert len(due) in (requests, 1)


def test_the_last_bit_of_a_sum_makes_no_request() -> None:
    stages = tuple(Stage(0.1, 100, 100) for _ in range(300))

    assert len(due_of(Arrivals(stages))) == 3000


def test_a_ramp_comes_ever_closer() -> None:
    due = due_of(Arrivals((Stage(10, 0, 200),)))

    assert len(due) == 1000
    assert (np.diff(np.diff(due)) <= 1).all()
    assert due[250] == pytest.approx(5 * NS, abs=1)  # the level at half time is half: a quarter of the area


def test_nothing_is_due_while_the_rate_is_none() -> None:
    due = np.array(due_of(Arrivals((Stage(1, 0, 0), Stage(1, 10, 10), Stage(2, 0, 0), Stage(1, 10, 10)))))

    assert len(due) == 20
    assert (due >= NS).all()
    assert not ((due >= 2 * NS) & (due < 4 * NS)).any()


@given(stage_lists(rates(200)), st.integers(1, 7), st.booleans(), st.integers(0, 9))
def test_shards_make_up_the_whole_and_share_nothing(
    stages: tuple[Stage, ...], of: int, poisson: bool, seed: int
) -> None:
    whole = due_of(Arrivals(stages, poisson, seed))
    parts = [due_of(Arrivals(stages, poisson, seed, Shard(index, of))) for index in range(of)]

    assert sorted(due for part in parts for due in part) == whole
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    if not poisson:
        assert [Arrivals(stages, shard=Shard(index, of)).expected for index in range(of)] == list(map(len, parts))


def test_random_gaps_are_exponential() -> None:
    """50,000 gaps: the mean is within 5 of its standard errors (1/sqrt n of it), the variance within 5 (sqrt(8/n))."""
    gaps = np.diff(due_of(Arrivals((Stage(100, 500, 500),), poisson=True, seed=7))) / NS * 500

    assert len(gaps) == pytest.approx(50_000, rel=0.03)
    assert gaps.mean() == pytest.approx(1, abs=5 / len(gaps) ** 0.5)
    assert gaps.var() == pytest.approx(1, abs=5 * (8 / len(gaps)) ** 0.5)
    assert (gaps > 1).mean() == pytest.approx(np.exp(-1), abs=0.02)


def test_random_gaps_follow_a_ramp() -> None:
    due = np.array(due_of(Arrivals((Stage(10, 0, 2000),), poisson=True, seed=3)))

    assert (due < 5 * NS).mean() == pytest.approx(0.25, abs=0.03)


def test_the_same_seed_gives_the_same_moments() -> None:
    stages = (Stage(2, 100, 300),)

    assert due_of(Arrivals(stages, True, 5)) == due_of(Arrivals(stages, True, 5))
    assert due_of(Arrivals(stages, True, 5)) != due_of(Arrivals(stages, True, 6))


# Users


def whole_levels() -> st.SearchStrategy[float]:
    return st.integers(0, 40).map(float)


def users_at(released: int, changes: Sequence[UserChange], at_ns: float) -> int:
    return ([released] + [change.users for change in changes if change.at_ns <= at_ns])[-1]


@given(stage_lists(whole_levels()), st.integers(1, 5))
def test_users_are_those_of_the_level_and_none_at_the_end(stages: tuple[Stage, ...], of: int) -> None:
    most = int(max(max(stage.first, stage.last) for stage in stages))
    workload = Workload(None, most, stages=stages)
    shards = [make_schedule(workload, Shard(index, of)) for index in range(of)]

    begins_s = 0.0
    for stage in stages:
        for part in (0.1003, 0.4999, 0.8997):
            level = stage.first + (stage.last - stage.first) * part
            there = sum(
                users_at(shard.released, shard.changes, (begins_s + part * stage.duration_s) * NS) for shard in shards
            )
            assert abs(there - level) <= 1 if stage.first != stage.last else there == level
        begins_s += stage.duration_s
    for shard in shards:
        moments = [change.at_ns for change in shard.changes]
        assert moments == sorted(moments)
        assert shard.changes[-1] == UserChange(round(begins_s * NS), 0)
        assert shard.released <= shard.in_flight
        assert all(0 <= change.users <= shard.in_flight for change in shard.changes)


@given(st.integers(1, 10_000), st.integers(1, 1000), st.integers(1, 16))
def test_counts_are_shared_out_in_full(requests: int, concurrency: int, of: int) -> None:
    workload = Workload(requests, min(concurrency, requests))
    shards = [make_schedule(workload, Shard(index, of)) for index in range(of)]

    assert sum(shard.requests or 0 for shard in shards) == requests
    assert sum(shard.in_flight for shard in shards) == workload.concurrency
    assert all(shard.released == shard.in_flight for shard in shards)


def test_the_schedule_of_an_open_workload_releases_nothing() -> None:
    schedule = make_schedule(Workload(None, 50, stages=(Stage(1, 10, 10),), is_open=True, poisson=True, seed=4))

    assert (schedule.requests, schedule.in_flight, schedule.released) == (None, 50, 0)
    assert schedule.arrivals == Arrivals((Stage(1, 10, 10),), True, 4)


# Values that are checked when they are made

ONE = (Stage(1, 1, 1),)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"requests": None, "concurrency": 1}, "give a number of requests (-n) or a duration (-z)"),
        ({"requests": 0, "concurrency": 1}, "takes 1 or more"),
        ({"requests": 5, "concurrency": 6}, "-c takes 1 to the number of requests, 5"),
        ({"requests": None, "concurrency": 0, "stages": ONE}, "-c takes 1 to 1,000,000"),
        ({"requests": None, "concurrency": 1, "stages": (Stage(1, 0, 0),)}, "must be above 0"),
        ({"requests": None, "concurrency": 1, "stages": ONE, "think_s": -1}, "--think takes 0 to 24h"),
        (
            {"requests": None, "concurrency": 1, "stages": ONE, "is_open": True, "think_s": 1},
            "--think belongs to users",
        ),
        ({"requests": None, "concurrency": 1, "stages": ONE, "is_open": True, "preconnect": True}, "--preconnect"),
        ({"requests": None, "concurrency": 1, "stages": (Stage(50_000, 1, 1),) * 2}, "more than 24h"),
        ({"requests": 1, "concurrency": 1, "timeout_s": 0}, "a timeout must be above 0"),
        ({"requests": 1, "concurrency": 1, "connect_timeout_s": 0}, "a connect timeout must be above 0"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(values: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError) as raised:
        Workload(**values)  # type: ignore[arg-type]
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("duration_s", "first", "last"), [(0, 1, 1), (-1, 1, 1), (90_000, 1, 1), (1, -1, 1), (1, 1, 2e6)]
)
def test_a_stage_that_cannot_be_is_refused(duration_s: float, first: float, last: float) -> None:
    with pytest.raises(UsageError, match="as in 30s"):
        Stage(duration_s, first, last)
