from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import psutil
import pytest

from loadgen.distribute.processes import ProcessCrew
from loadgen.errors import UsageError
from loadgen.load_options import LoadOptions
from loadgen.outcome import Outcome
from loadgen.plan import Share, Stage, Target
from loadgen.run import Run
from loadgen.runner import Session
from loadgen.samples import MISSING
from servers.catalog import parse_spec
from servers.process import spawn
from tests.cli.test_failures import failures, figures
from tests.distribute.support import one_run, plan_at, rate, workers_of
from tests.support import PATIENCE_S, Server, start_script


@pytest.mark.parametrize("workers", [2, 3])
def test_a_burst_that_does_not_divide_is_carried_out_exactly_and_released_as_one(server: Server, workers: int) -> None:
    run = one_run(plan_at(server.url("/sleep/300"), 301, workers=workers))
    assert run.summary.ok == run.summary.requests == len(server.received) == 301
    assert run.use.workers == workers
    assert run.summary.release_ns is not None
    assert run.summary.release_ns < 1_000_000_000  # 12 to 40 ms where nothing else runs
    assert run.samples.begun.min() >= 0
    assert server.peak == 301
    assert (np.diff(run.samples.begun) >= 0).all()
    assert workers_of(psutil.Process()) == []


@pytest.mark.parametrize(
    ("workload", "requests"),
    [
        ({"requests": 301, "concurrency": 7}, 301),
        ({"requests": 301, "concurrency": 7, "keepalive": False}, 301),
        ({"requests": 50, "concurrency": 5, "think_s": 0.01}, 50),
        ({"requests": 50, "preconnect": True}, 50),
        (rate(301, 1), 301),
        (rate(301, 1) | {"engine": "aiohttp"}, 301),
        ({"requests": None, "stages": (Stage(0.3, 0, 200), Stage(0.3, 200, 0)), "is_open": True}, 60),
    ],
)
def test_all_of_a_workload_is_carried_out_by_three(server: Server, workload: dict[str, Any], requests: int) -> None:
    run = one_run(plan_at(server.url(), **workload, workers=3))
    assert run.summary.ok == run.summary.requests == len(server.received) == requests
    assert server.connections <= requests
    assert run.use.workers == 3


@pytest.mark.parametrize("engine", ["wire", "aiohttp"])
def test_requests_that_vary_have_numbers_that_no_other_worker_sends(server: Server, engine: str) -> None:
    plan = plan_at(server.url("/a/{seq}"), 90, 9, workers=3, engine=engine)
    shares = (Share(plan.target, 2), Share(Target.parse(server.url("/b/{seq}"))))
    run = one_run(replace(plan, mix=shares))
    assert [figures.ok for figures in run.summary.targets] == [60, 30]
    assert np.bincount(run.samples.target).tolist() == [0, 60, 30]
    assert sorted(int(request.path.rpartition("/")[2]) for request in server.received) == list(range(90))


def test_due_times_of_all_workers_are_those_of_the_schedule(server: Server) -> None:
    run = one_run(plan_at(server.url(), **rate(200, 0.5), workers=3))
    assert run.samples.due.tolist() == [5_000_000 * number for number in range(100)]


def test_users_come_and_go_at_all_workers(server: Server) -> None:
    stages = (Stage(0.4, 1, 5), Stage(0.4, 5, 5))
    run = one_run(plan_at(server.url("/sleep/20"), None, 5, stages=stages, workers=2))
    assert run.summary.ok == run.summary.requests == len(server.received) > 20
    assert server.peak == 5


def test_the_findings_are_over_the_whole() -> None:
    with spawn(parse_spec("threads:threads=20")) as server:
        server.wait_ready()
        run = one_run(plan_at(f"{server.url}/sleep?ms=500", 40, workers=2))
    (limit,) = [finding for finding in run.findings if finding.cause == "concurrency-limit"]
    assert limit.details["limit"] == 20
    assert limit.details["waves"] == [20, 20]


def test_the_same_processes_carry_out_all_runs(server: Server) -> None:
    with Session(plan_at(server.url(), 8, workers=2, runs=2, warmup=1)) as session:
        before = {worker.pid for worker in workers_of(psutil.Process())}
        assert [run.summary.ok for run in session.runs()] == [8, 8, 8]
        assert {worker.pid for worker in workers_of(psutil.Process())} == before
        assert len(before) == 2


def test_a_worker_that_dies_fails_its_own_requests_and_is_replaced_for_the_next_run(server: Server) -> None:
    with Session(plan_at(server.url("/sleep/1500"), 20, workers=2)) as session:
        victim = workers_of(psutil.Process())[0]

        def kill() -> None:
            server.wait_for_requests(20)
            victim.kill()

        killing = threading.Thread(target=kill)
        killing.start()
        run = session.run(1)
        killing.join()
        assert run.summary.failures == {Outcome.CLIENT: 10}
        assert run.summary.ok == 10
        assert (run.samples.begun[run.samples.outcome == Outcome.CLIENT] == MISSING).all()
        assert not run.trusted
        (finding,) = [finding for finding in run.findings if finding.cause == "client"]
        assert "1 of its 2 workers ended before they had told what came, and 10 requests with them" in finding.sentence
        assert session.run(2).summary.ok == 20


def interrupted(server: Server, *load: str) -> tuple[int, str, str, list[psutil.Process]]:
    with start_script("loadgen", server.url("/sleep/30"), *load, "--workers", "2") as process:
        server.wait_for_requests(20)
        workers = workers_of(psutil.Process(process.pid))
        process.send_signal(signal.SIGINT)
        output, notes = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in notes
    return process.returncode, output, notes, workers


@pytest.mark.parametrize("load", [("-n", "5000", "-c", "6"), ("-z", "60s", "-c", "6"), ("-z", "60s", "--rate", "100")])
def test_ctrl_c_prints_what_all_workers_measured_and_leaves_none_of_them(server: Server, load: tuple[str, ...]) -> None:
    code, output, _, workers = interrupted(server, *load)
    assert code == 130
    shown = figures(output)
    assert int(shown["ok"]) >= 10
    assert int(shown["ok"]) + int(shown["failed"]) == int(shown["requests"])
    assert "-n" not in load or int(shown["requests"]) == 5000
    assert failures(output).keys() <= {"cancelled"}
    assert len(workers) == 2
    assert not any(worker.is_running() for worker in workers)


def test_no_worker_outlives_a_generator_that_is_killed(server: Server) -> None:
    with start_script("loadgen", server.url("/never"), "-n", "20", "--workers", "2") as process:
        server.wait_for_requests(20)
        workers = workers_of(psutil.Process(process.pid))
        process.kill()
    assert len(workers) == 2
    _, alive = psutil.wait_procs(workers, PATIENCE_S)
    assert alive == []


def test_what_an_engine_cannot_send_is_said_as_by_one(server: Server) -> None:
    with pytest.raises(UsageError, match="--preconnect needs the wire engine"):
        one_run(plan_at(server.url(), 4, preconnect=True, engine="httpx", workers=2))


def test_there_are_no_more_workers_than_requests_in_flight(server: Server) -> None:
    assert one_run(plan_at(server.url(), 3, workers=8)).use.workers == 3
    assert one_run(plan_at(server.url(), 3, 1, workers=8)).use.workers == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": "0"}, "--workers takes 1 to 256, or auto"),
        ({"workers": "-2"}, "--workers -2 is not accepted"),
        ({"workers": "many"}, "--workers many is not accepted"),
        ({"scheduler": "http://h:8786"}, "takes tcp://HOST:PORT"),
        ({"scheduler": "tcp://h"}, "takes tcp://HOST:PORT"),
        ({"scheduler": "tcp://h:8786", "workers": "2"}, "give one"),
    ],
)
def test_what_is_not_accepted_is_said_in_one_line(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        LoadOptions(**options).plan(Target.parse("http://h/"))  # type: ignore[arg-type]


def test_auto_is_one_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.kernel.available_cpus", lambda: 5)
    assert LoadOptions(workers="auto").plan(Target.parse("http://h/")).workers == 5


def test_a_crew_that_is_not_used_ends() -> None:
    with ProcessCrew(2, "wire"):
        workers = workers_of(psutil.Process())
    assert len(workers) == 2
    assert not any(worker.is_running() for worker in workers)


def test_the_runs_of_one_and_of_two_say_the_same(server: Server) -> None:
    def causes(run: Run) -> set[str]:
        return {finding.cause for finding in run.findings} - {"client", "stall"}  # this machine's noise

    began = time.monotonic()
    alone, shared = (one_run(plan_at(server.url("/sleep/400"), 30, workers=workers)) for workers in (1, 2))
    assert causes(alone) == causes(shared) == {"overlapped"}
    assert time.monotonic() - began < PATIENCE_S
