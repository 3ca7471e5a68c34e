"""Runs too long for all of their rows to be kept: with few rows allowed, a short run is one."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loadgen.keeper import Keeper
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Share, Stage, Target, Workload
from loadgen.run import WARMUP, Run
from loadgen.runner import Session
from loadgen.samples import MISSING, Block, Recorder, Samples, joined
from loadgen.summary import NS_PER_S, summarize
from loadgen.tally import Tally
from servers.catalog import parse_spec
from servers.process import spawn
from tests.support import Server

MOST_KEPT = 100
WINDOW = 64
LEAST_KEPT = 50


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("samples", "schedule"):
        monkeypatch.setattr(f"loadgen.{module}.MOST_KEPT", MOST_KEPT)
    monkeypatch.setattr("loadgen.samples._WINDOW", WINDOW)
    monkeypatch.setattr("loadgen.keeper._LEAST_KEPT", LEAST_KEPT)


@pytest.fixture(scope="module")
def calibrated() -> Iterator[str]:
    with spawn(parse_spec("calibrated:service_ms=2")) as running:
        running.wait_ready()
        yield f"{running.url}/sleep"


def plan_of(url: str, level: float, duration_s: float, **options: Any) -> Plan:
    plan = {name: options.pop(name) for name in ("engine", "warmup", "runs") if name in options}
    is_open = options.get("is_open", False)
    stages = (Stage(duration_s, level, level),)
    return Plan(Target.parse(url), Workload(None, 64 if is_open else int(level), stages=stages, **options), **plan)


def run_of(plan: Plan) -> tuple[Run, Samples]:
    """The run, and the rows that were handed over while it lasted."""
    parts: list[Samples] = []
    with Session(plan, take_rows=lambda number, rows: parts.append(rows)) as session:
        run = session.run(1)
    return run, joined(parts)


def check(run: Run, rows: Samples) -> None:
    """What was counted is what the rows say, and of the rows only the last are kept."""
    summary = run.summary
    assert run.tally is not None
    assert summary.requests == len(rows) == summary.ok + summary.failed
    assert summary.requests > MOST_KEPT
    exact = summarize(rows, concurrency=summary.concurrency, over_ms=summary.over_ms, is_open=run.tally.is_open)
    for name in ("ok", "failures", "statuses", "wall_ns", "over", "resent", "bytes_in", "concurrency"):
        assert getattr(summary, name) == getattr(exact, name), name
    assert not summary.is_exact
    assert summary.times is not None
    assert exact.times is not None
    for figure in ("p50_ns", "p90_ns", "p95_ns", "p99_ns"):
        assert getattr(summary.times, figure) == pytest.approx(getattr(exact.times, figure), rel=1e-3)
    assert sum(second.ok + second.failed for second in summary.seconds) == len(rows)
    last = rows.done >= rows.done.max() - NS_PER_S
    assert len(run.samples) == max(np.count_nonzero(last), min(LEAST_KEPT, len(rows)))
    assert (np.diff(run.samples.due) >= 0).all()


@pytest.mark.parametrize("engine", ["wire", "aiohttp", "httpx"])
def test_users_for_a_time(calibrated: str, engine: str) -> None:
    run, rows = run_of(plan_of(calibrated, 8, 3.0, engine=engine))
    check(run, rows)
    assert run.summary.ok == run.summary.requests
    assert run.summary.release_ns is not None


@pytest.mark.parametrize("engine", ["wire", "aiohttp"])
def test_a_rate(calibrated: str, engine: str) -> None:
    run, rows = run_of(plan_of(calibrated, 400, 2.0, is_open=True, engine=engine))
    check(run, rows)
    assert run.summary.requests == 800
    assert run.summary.lateness is not None
    due = np.sort(rows.due)
    assert due[-1] == pytest.approx(2e9 - 2.5e6, abs=10)
    assert np.diff(due).min() > 0


def test_users_who_think_and_come_and_go(calibrated: str) -> None:
    stages = (Stage(1.0, 4, 20), Stage(1.0, 20, 2))
    plan = Plan(Target.parse(calibrated), Workload(None, 20, stages=stages, think_s=0.005))
    check(*run_of(plan))


def test_a_request_that_outlasts_many_blocks_is_carried_along() -> None:
    blocks: list[Block] = []
    recorder = Recorder(8, fold=blocks.append)
    recorder.release()
    recorder.begun[3] = 77
    live = [3]
    for _ in range(4):
        while (moved := recorder.more(live)) is None:
            pass
        assert moved == 1
        assert recorder.begun[0] == 77
        live = [0]
    assert [len(block) - len(block.live) for block in blocks] == [MOST_KEPT - 1, WINDOW - 1, WINDOW - 1, WINDOW - 1]


def test_a_recorder_takes_no_more_memory_however_many_rows_it_is_given() -> None:
    recorder = Recorder(MOST_KEPT, fold=lambda block: None)
    recorder.release()
    for _ in range(100):
        recorder.more([1, 2, 3])
        assert recorder.rows <= MOST_KEPT
    assert recorder.rows == len(recorder.begun) == WINDOW
    assert recorder.folded > 50 * (WINDOW - 3)


def test_where_due_times_are_their_own_they_move_too() -> None:
    blocks: list[Block] = []
    recorder = Recorder(MOST_KEPT, has_due_times=True, fold=blocks.append)
    release = recorder.release()
    recorder.due[7], recorder.begun[7] = release + 5, release + 9
    recorder.more([7])
    assert (recorder.due[0], recorder.begun[0]) == (release + 5, release + 9)
    assert recorder.due is not recorder.begun
    samples = blocks[0].samples()
    assert (samples.due[7], samples.begun[7], samples.done[7]) == (5, 9, MISSING)


def test_where_there_are_targets_a_row_that_is_not_begun_has_none() -> None:
    blocks: list[Block] = []
    recorder = Recorder(MOST_KEPT, has_targets=True, fold=blocks.append)
    recorder.release()
    recorder.target[7] = 2
    recorder.more([7])
    assert recorder.target.tolist() == [2] + [MISSING] * (WINDOW - 1)
    assert blocks[0].samples().target.tolist() == [MISSING] * 7 + [2] + [MISSING] * (MOST_KEPT - 8)


@pytest.mark.parametrize("load", [{"level": 250.0, "is_open": True}, {"level": 4.0}])
def test_each_of_several_targets_is_counted(server: Server, load: dict[str, Any]) -> None:
    plan = plan_of(server.url("/a"), duration_s=1.0, **load)
    shares = (Share(plan.target, 3), Share(Target.parse(server.url("/status/404"))))
    run, rows = run_of(replace(plan, mix=shares))
    first, second = run.summary.targets
    assert not run.summary.is_exact
    assert (first.requests + second.requests, first.ok) == (run.summary.requests, run.summary.ok)
    assert second.failures == run.summary.failures
    assert abs(first.requests - 3 * second.requests) <= 12
    assert (first.times, second.times) == (run.summary.times, None)
    assert [int((rows.target == number).sum()) for number in (1, 2)] == [first.requests, second.requests]
    assert len(server.received) == run.summary.requests


def test_trouble_in_the_keeper_s_thread_is_raised_and_holds_nobody_up() -> None:
    def full(rows: Samples) -> None:
        raise ZeroDivisionError

    keeper = Keeper(Tally(over_ms=1500, is_open=False), 0, full)
    recorder = Recorder(MOST_KEPT, fold=keeper.take)
    recorder.release()
    for _ in range(100):  # more than may wait
        recorder.more([])
    with pytest.raises(ZeroDivisionError):
        keeper.close()


def test_warm_up_rows_are_not_handed_over(calibrated: str) -> None:
    taken: list[int] = []
    with Session(plan_of(calibrated, 8, 1.0), take_rows=lambda number, rows: taken.append(number)) as session:
        assert session.run(WARMUP).tally is not None
        assert not taken
        assert session.run(2).tally is not None
    assert set(taken) == {2}


def test_an_interruption_keeps_all_until_then(calibrated: str) -> None:
    rows: list[Samples] = []
    enough = threading.Event()

    def take(number: int, part: Samples) -> None:
        rows.append(part)
        if sum(map(len, rows)) > 2 * MOST_KEPT:
            enough.set()

    def interrupt() -> None:
        enough.wait()
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    began = time.monotonic()
    with Session(plan_of(calibrated, 8, 600), take_rows=take) as session:
        run = session.run(1)
    interrupting.join()
    assert time.monotonic() - began < 60
    assert run.interrupted
    check(run, joined(rows))
    assert set(run.summary.failures) <= {Outcome.CANCELLED}
    assert 1 <= run.summary.failed <= 8


def test_what_only_the_last_rows_tell_is_said_of_them_alone(calibrated: str) -> None:
    run, _ = run_of(plan_of(calibrated, 8, 2.0))
    for finding in run.findings:
        assert finding.cause == "client" or finding.sentence.startswith(f"of the last {len(run.samples):,} requests")


def test_time_outs_are_counted_wherever_in_the_run_they_were(server: Server) -> None:
    plan = plan_of(server.url("/never"), 300, 3.0, is_open=True, timeout_s=0.05)
    run, rows = run_of(plan)
    counted = int(np.isin(rows.outcome, (Outcome.TIMEOUT, Outcome.CONNECT_TIMEOUT)).sum())
    (finding,) = [finding for finding in run.findings if finding.cause == "timeout"]
    assert finding.requests == counted > len(run.samples)
