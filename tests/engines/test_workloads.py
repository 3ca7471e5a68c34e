"""Workloads that go on: closed for a time, with thinking, at a rate, in stages; alike in each engine."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from time import perf_counter_ns
from typing import Any

import numpy as np
import pytest

from loadgen import samples as samples_module
from loadgen.engines import timer
from loadgen.engines.wire.connection import Connection
from loadgen.engines.wire.run import WireRun
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Block, Samples
from loadgen.schedule import Arrivals
from loadgen.summary import most_at_once
from loadgen.workload import Stage
from tests.engines.harness import fire, outcomes
from tests.engines.misbehave import MisbehavingServer
from tests.engines.serving import ResettingListener, closed_port

NS = 1_000_000_000


def hold(seconds: float, level: float) -> Stage:
    return Stage(seconds, level, level)


def due_ns(*stages: Stage) -> list[int]:
    """The due times that the schedule gives."""
    return [due for block in Arrivals(stages).blocks() for due in block.tolist()]


def in_flight(samples: Samples) -> int:
    begun = samples.begun != MISSING
    return most_at_once(samples.begun[begun], samples.done[begun])


# Closed


def test_users_send_until_the_time_is_over(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=5"), None, 4, stages=(hold(0.3, 4),))

    assert set(outcomes(samples)) == {"ok"}
    assert 8 <= len(samples) <= 4 * 60
    assert samples.begun.max() < 0.3 * NS + 50e6
    assert in_flight(samples) == 4
    assert server.accepted == 4


def test_more_requests_than_rows_at_first(
    engine: str, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples_module, "_MORE_ROWS", 16)

    samples = fire(engine, server.url("/ok"), None, 3, stages=(hold(0.3, 3),))

    assert set(outcomes(samples)) == {"ok"}
    assert len(samples) == len(server.received) > 32


@pytest.mark.parametrize("is_open", [False, True])
def test_rows_that_are_handed_on_are_lost_to_nobody(
    engine: str, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    """A row that is under way moves to the front, and is written to the end there."""
    monkeypatch.setattr(samples_module, "_MORE_ROWS", 8)
    monkeypatch.setattr(samples_module, "MOST_KEPT", 16)
    monkeypatch.setattr(samples_module, "_WINDOW", 16)
    handed: list[Block] = []

    stages = (hold(0.6, 100 if is_open else 5),)
    last = fire(engine, server.url("/slow?ms=15"), None, 60 if is_open else 5, stages=stages, is_open=is_open,
                fold=handed.append)  # fmt: skip

    parts = [*(block.samples().of(np.delete(np.arange(len(block)), block.live)) for block in handed), last]
    assert len(handed) > 2
    assert all((part.outcome == Outcome.OK).all() for part in parts)
    assert sum(map(len, parts)) == len(server.received)
    assert len(np.unique(np.concatenate([part.begun for part in parts]))) == len(server.received)
    if is_open:
        assert sorted(np.concatenate([part.due for part in parts]).tolist()) == due_ns(*stages)


def test_a_user_thinks_between_two_requests(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/ok"), 12, 3, think_s=0.1)

    assert outcomes(samples) == {"ok": 12}
    assert samples.begun.max() >= 3 * 0.1 * NS - 3e6  # each of three sends four times
    assert np.sort(samples.begun)[3] >= 0.1 * NS - 3e6
    assert server.accepted <= 3


def test_nobody_waits_for_users_who_think_when_all_is_sent(engine: str, server: MisbehavingServer) -> None:
    """Else the run would last as long as they think."""
    fire(engine, server.url("/ok"), 5, 4, think_s=0.2)
    samples = fire(engine, server.url("/slow?ms=20"), None, 3, stages=(hold(0.2, 3),), think_s=3600)

    assert outcomes(samples) == {"ok": 3}


def test_users_come_and_go(engine: str, server: MisbehavingServer) -> None:
    """The server is slower than the stages are long: those who should leave are still there when others come."""
    stages = (hold(0.2, 4), hold(0.1, 1), hold(0.3, 4), hold(0.1, 0), hold(0.1, 2))

    samples = fire(engine, server.url("/slow?ms=150"), None, 4, stages=stages)

    assert set(outcomes(samples)) == {"ok"}
    assert in_flight(samples) == 4
    assert not ((samples.begun > 0.6 * NS) & (samples.begun < 0.7 * NS - 3e6)).any()
    assert (samples.begun > 0.7 * NS - 3e6).sum() == 2


def test_users_rise_from_none(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=30"), None, 6, stages=(Stage(0.3, 0, 6),))

    assert set(outcomes(samples)) == {"ok"}
    assert samples.begun.min() >= 0.05 * NS - 3e6
    assert in_flight(samples) >= 4


def test_connected_beforehand_and_then_for_a_time(server: MisbehavingServer) -> None:
    samples = fire("wire", server.url("/slow?ms=10"), None, 8, stages=(hold(0.2, 8),), preconnect=True)

    assert set(outcomes(samples)) == {"ok"}
    assert (samples.reused == 1).all()
    assert server.accepted == 8


def test_connected_beforehand_a_connection_that_is_lost_later_is_replaced(server: MisbehavingServer) -> None:
    samples = fire("wire", server.url("/close-when-idle"), 6, 2, think_s=0.1, preconnect=True)

    assert outcomes(samples) == {"ok": 6}
    assert samples.reused.sum() == 2


# Open


def test_each_request_begins_when_it_is_due(engine: str, server: MisbehavingServer) -> None:
    stages = (hold(0.3, 200),)

    samples = fire(engine, server.url("/ok"), None, stages=stages, is_open=True)

    assert outcomes(samples) == {"ok": 60}
    assert samples.due.tolist() == due_ns(*stages)
    assert len(server.received) == 60


def test_requests_begin_whatever_the_answers_do(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=500"), None, stages=(hold(0.4, 100),), is_open=True)

    assert outcomes(samples) == {"ok": 40}
    assert samples.begun.max() < samples.done.min()
    assert (samples.response_ns >= 0.5 * NS - 1e6).all()


def test_stages_of_a_rate(engine: str, server: MisbehavingServer) -> None:
    stages = (Stage(0.2, 0, 200), hold(0.1, 0), hold(0.2, 100))

    samples = fire(engine, server.url("/ok"), None, stages=stages, is_open=True)

    assert outcomes(samples) == {"ok": 40}
    assert sorted(samples.due.tolist()) == due_ns(*stages)


def test_at_the_cap_a_request_has_failed_and_is_not_forgotten(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=700"), None, 5, stages=(hold(0.3, 100),), is_open=True)

    assert outcomes(samples) == {"ok": 5, "client": 25}
    assert samples.due.tolist() == due_ns(hold(0.3, 100))
    failed = samples.outcome == Outcome.CLIENT
    assert (samples.begun[failed] == MISSING).all()
    assert (samples.done[failed] >= samples.due[failed]).all()


def test_answers_free_connections_for_what_is_due(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=5"), None, stages=(hold(0.5, 40),), is_open=True)

    assert outcomes(samples) == {"ok": 20}
    assert server.accepted < 10
    assert samples.reused.sum() == 20 - server.accepted


@pytest.mark.parametrize("workload", ["open", "think"])
def test_a_connection_closed_between_two_requests_is_replaced(
    engine: str, server: MisbehavingServer, workload: str
) -> None:
    """No request goes out on it, so that none is stale."""
    if workload == "open":
        samples = fire(engine, server.url("/close-when-idle"), None, stages=(hold(0.5, 20),), is_open=True)
    else:
        samples = fire(engine, server.url("/close-when-idle"), 10, 2, think_s=0.05)

    assert outcomes(samples) == {"ok": 10}
    assert server.accepted == 10


def test_a_timeout_runs_from_due(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/never"), None, stages=(hold(0.2, 50),), is_open=True, timeout_s=0.3)

    assert outcomes(samples) == {"timeout": 10}
    assert (samples.response_ns >= 0.3 * NS - 5e6).all()
    assert samples.done.max() < 5 * NS


@pytest.mark.parametrize(
    ("path", "outcome"),
    [("/close", "closed"), ("/reset", "reset"), ("/garbage", "protocol"), ("/short-body", "protocol")],
)
@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_failures_at_a_rate_are_counted_and_leave_nothing_open(
    engine: str, server: MisbehavingServer, path: str, outcome: str
) -> None:
    fire(engine, server.url("/ok"))  # libraries open what they keep
    server.wait_until_all_closed()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    samples = fire(engine, server.url(path), None, 2000, stages=(hold(0.2, 2000),), is_open=True)

    assert outcomes(samples) == {outcome: 400}
    assert sorted(samples.due.tolist()) == due_ns(hold(0.2, 2000))
    server.wait_until_all_closed()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_refusals_at_a_rate(engine: str) -> None:
    url = f"http://127.0.0.1:{closed_port()}/"

    assert outcomes(fire(engine, url, None, 2000, stages=(hold(0.2, 1000),), is_open=True)) == {"refused": 200}
    assert set(outcomes(fire(engine, url, None, 3, stages=(hold(0.1, 3),)))) == {"refused"}


def test_a_server_that_resets_all_does_not_end_the_load(engine: str) -> None:
    with ResettingListener() as listener:
        samples = fire(engine, f"http://127.0.0.1:{listener.port}/", None, stages=(hold(0.2, 500),), is_open=True)

    assert len(samples) == 100
    assert "ok" not in outcomes(samples)


def test_users_without_a_descriptor_wait_for_one(server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they would use up the count, or fill the rows of a timed run, while a few do the work."""
    make = WireRun._new_connection

    def make_few(run: WireRun) -> Connection:
        if len(run._pool.live) + len(run._pool.spare) >= 10:
            raise OSError(errno.EMFILE, "Too many open files")
        return make(run)

    monkeypatch.setattr(WireRun, "_new_connection", make_few)
    timed = fire("wire", server.url("/slow?ms=20"), None, 50, stages=(hold(0.4, 50),))
    counted = fire("wire", server.url("/slow?ms=5"), 500, 50)
    thinking = fire("wire", server.url("/slow?ms=5"), 100, 50, think_s=0.01)

    assert set(outcomes(timed)) == set(outcomes(counted)) == set(outcomes(thinking)) == {"ok", "client"}
    assert timed.ok.sum() > 40
    assert (timed.outcome == Outcome.CLIENT).sum() < 1000
    assert counted.ok.sum() > 400


# Interruption


@pytest.mark.parametrize("workload", ["closed", "think", "open", "stages"])
def test_an_interrupt_keeps_what_was_measured(engine: str, server: MisbehavingServer, workload: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "closed": {"stages": (hold(60, 4),)},
        "think": {"stages": (hold(60, 4),), "think_s": 0.01},
        "open": {"stages": (hold(60, 60),), "is_open": True},
        "stages": {"stages": (Stage(0.2, 1, 4), hold(60, 4))},
    }

    samples = fire(engine, server.url("/slow?ms=20"), None, 200 if workload == "open" else 4,
                   cancel_after=lambda: server.wait_until_received(30), **options[workload])  # fmt: skip

    assert samples.ok.sum() >= 10
    assert set(outcomes(samples)) <= {"ok", "cancelled"}
    assert len(samples) < 60 * 60  # those that were not due by then have no row
    server.wait_until_all_closed()


# The timer of systems without a timerfd


@pytest.fixture
def loop_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timer, "make_timer", timer.LoopTimer)
    monkeypatch.setattr("loadgen.engines.wire.agenda.make_timer", timer.LoopTimer)


@pytest.mark.usefixtures("loop_timer")
@pytest.mark.parametrize("new_loop", [None, asyncio.new_event_loop])
def test_the_event_loops_own_timer_does_too(engine: str, server: MisbehavingServer, new_loop: Any) -> None:
    loop: dict[str, Any] = {} if new_loop is None else {"new_loop": new_loop}

    at_a_rate = fire(engine, server.url("/ok"), None, stages=(hold(0.2, 200),), is_open=True, **loop)
    thinking = fire(engine, server.url("/ok"), 6, 2, think_s=0.02, **loop)

    assert outcomes(at_a_rate) == {"ok": 40}
    assert outcomes(thinking) == {"ok": 6}
    assert np.sort(thinking.begun)[2] >= 0.02 * NS - 3e6


def test_an_alarm_rings_at_its_moment() -> None:
    async def ring(make: type[timer.KernelTimer] | type[timer.LoopTimer]) -> tuple[int, int]:
        before = perf_counter_ns() + 20_000_000
        with timer.Alarm() as alarm:
            await alarm.until(before)
            await alarm.until(before - 1)  # past: at once
        return before, perf_counter_ns()

    due, rung = asyncio.run(ring(timer.LoopTimer))
    assert due <= rung < due + NS
