"""What is said of work that shares the CPU, by how much CPU time it took and what a request alone takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loadgen.explain import Evidence, Finding, ServerView, explain
from tests.loadgen.make import ok_rows, samples_of


def finding_of(
    times_ms: list[float],
    *,
    cpu_s: float,
    wait_s: float = 0.0,
    lone_ms: float | None = None,
    lone_cpu_ms: float | None = None,
) -> Finding:
    """Of a burst at a server on this machine of two CPUs."""
    server = ServerView(
        queue=((25_000_000, 0), (50_000_000, 0)),
        cpu_s=cpu_s,
        cpu_wait_s=wait_s,
        lone_ns=None if lone_ms is None else round(lone_ms * 1e6),
        lone_cpu_s=None if lone_cpu_ms is None else lone_cpu_ms / 1e3,
    )
    (finding,) = explain(Evidence(samples_of(ok_rows(*times_ms)), len(times_ms), server=server, cpus=2))
    return finding


def test_two_side_by_side_in_the_time_of_one_are_not_as_fast_as_one_after_another() -> None:
    finding = finding_of([1_022, 1_024], cpu_s=1.0, lone_ms=1_013, lone_cpu_ms=1_000)
    assert "each only watched the clock, so this is not 2 times the work" in finding.sentence
    assert "as fast as one after another" not in finding.sentence
    unknown = finding_of([1_022, 1_024], cpu_s=1.0, lone_ms=1_013)
    assert "watched" not in unknown.sentence
    assert "as fast as one after another" not in unknown.sentence


@pytest.mark.parametrize(("wall_ms", "cpu_s", "times"), [(1_030, 1.0, "1.0"), (520, 1.0, "1.9")])
def test_work_is_as_much_faster_as_its_times_say(wall_ms: float, cpu_s: float, times: str) -> None:
    finding = finding_of([wall_ms] * 10, cpu_s=cpu_s, lone_ms=100, lone_cpu_ms=99)
    assert f"side by side the work went {times} times as fast as one after another" in finding.sentence
    assert ("did not add up" in finding.sentence) is (times == "1.0")


def test_spinning_is_told_from_work_by_what_one_alone_takes() -> None:
    spun = finding_of([650.0] * 10, cpu_s=0.64, lone_ms=600, lone_cpu_ms=590)
    assert "each only watched the clock, so this is not 10 times the work" in spun.sentence
    worked = finding_of([6_500.0] * 10, cpu_s=6.4, lone_ms=600, lone_cpu_ms=590)
    assert "watched" not in worked.sentence


def test_requests_that_sleep_do_not_watch_the_clock() -> None:
    """What CPU goes with many of them is for taking them up."""
    times = np.linspace(1_010, 1_400, 400).tolist()
    before = finding_of(times, cpu_s=0.8)
    assert before.cause == "cpu-shared"
    beside = finding_of(times, cpu_s=0.8, lone_ms=1_002, lone_cpu_ms=3)
    assert beside.cause == "overlapped"
    assert "watched" not in beside.sentence


def test_short_requests_are_told_by_their_pace() -> None:
    finding = finding_of([1.5] * 40 + [150.0] * 9, cpu_s=0.14, lone_ms=0.6, lone_cpu_ms=0.4)
    assert finding.cause == "cpu-shared"
    assert "requests were worked through at 327 a second" in finding.sentence
    assert "watched" not in finding.sentence


def test_a_cpu_that_others_took_is_not_said_to_be_all_there_is() -> None:
    times = np.random.default_rng(3).uniform(100, 1_000, 200).tolist()
    taken = finding_of(times, cpu_s=0.4, wait_s=0.9)
    assert taken.cause == "cpu-shared"
    assert "kept 0.4 of 2 CPUs busy, and would have used more, but other processes took the CPU" in taken.sentence
    own = finding_of(times, cpu_s=0.99)
    assert "other processes" not in own.sentence


def waves_of_200() -> list[float]:
    """Two, up to a quarter longer than they need be, as threads on a busy machine make them."""
    times = np.random.default_rng(5).uniform(1_000, 1_250, 400)
    times[200:] += 1_050
    return times.tolist()  # type: ignore[no-any-return]


def test_clear_waves_tell_the_limit_though_the_cpu_was_in_use() -> None:
    finding = finding_of(waves_of_200(), cpu_s=0.9, wait_s=1.8)
    assert (finding.cause, finding.details["limit"]) == ("concurrency-limit", 200)


def test_waves_of_work_that_takes_the_whole_cpu_are_work_that_shares_it() -> None:
    assert finding_of(waves_of_200(), cpu_s=2.2).cause == "cpu-shared"


def test_waves_of_requests_that_wait_alone_tell_the_limit_whatever_the_cpu() -> None:
    finding = finding_of(waves_of_200(), cpu_s=2.2, lone_ms=1_000, lone_cpu_ms=3)
    assert (finding.cause, finding.details["limit"]) == ("concurrency-limit", 200)


def test_a_clause_is_left_out_where_neither_the_server_nor_others_used_the_cpu() -> None:
    rows = np.random.default_rng(3).uniform(1, 150, 200).tolist()
    evidence = Evidence(samples_of(ok_rows(*rows)), 20, server=ServerView(cpu_s=0.1), cpus=2)
    (finding,) = explain(replace(evidence, server=ServerView(cpu_s=0.09)))
    assert "as fast as" not in finding.sentence


@pytest.mark.parametrize(
    ("times_ms", "waves"),
    [
        ([1_041, 2_081, 1_044, 2_095], [2, 2]),
        ([1_016, 1_038, 2_048, 2_240], [2, 2]),
        ([1_025, 2_034, 3_033, 4_054, 1_031, 2_041, 3_045, 4_050], [2, 2, 2, 2]),
    ],
)
@pytest.mark.parametrize(("lone_ms", "cores", "wait_s"), [(None, 1.5, 0.2), (1_012, 1.5, 0.2), (None, 0.27, 7.0)])
def test_waves_of_as_many_as_there_are_cpus_do_not_share_them(
    times_ms: list[float], waves: list[int], lone_ms: float | None, cores: float, wait_s: float
) -> None:
    """In no order of arrival, as threads on carriers take them; also where other processes have most of the CPUs."""
    cpu_s = cores * max(times_ms) / 1e3
    finding = finding_of(times_ms, cpu_s=cpu_s, wait_s=wait_s, lone_ms=lone_ms, lone_cpu_ms=lone_ms)
    assert (finding.cause, finding.details["limit"], finding.details["waves"]) == ("concurrency-limit", 2, waves)
    assert "works on 2 requests at once, as many as there are CPUs, about" in finding.sentence


def test_work_that_ends_together_shares_the_cpu_however_few_it_is() -> None:
    finding = finding_of([1_990, 1_995, 2_010, 2_020], cpu_s=3.6, lone_ms=1_000, lone_cpu_ms=990)
    assert finding.cause == "cpu-shared"
    assert "side by side the work went 2.0 times as fast as one after another" in finding.sentence
