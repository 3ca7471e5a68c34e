"""Real servers, and what is seen of them while a run lasts."""

from __future__ import annotations

import os
from time import clock_gettime_ns, perf_counter_ns

import psutil
import pytest

from loadgen.plan import Plan, Target, Workload
from loadgen.resources.sampler import Watching
from loadgen.resources.seen import HEADER, rows
from loadgen.resources.watch import Sampler
from loadgen.runner import Session
from rig.watched import watched
from tests.resources.support import burst, client_looks, looked_at, seen, server_looks
from tests.servers.support import somaxconn
from tests.support import Server


def test_looks_stand_on_the_time_axis_of_the_requests() -> None:
    with looked_at("async") as (server, sampler):
        run = burst(server, sampler, "/sleep?ms=800", 20)
    resources = seen(run)
    for looks in (server_looks(resources), client_looks(resources)):
        at = [look.at_ns for look in looks]
        assert at == sorted(at)
        assert at[0] >= 0
        assert run.summary.wall_ns is not None
        assert at[-1] >= run.summary.wall_ns  # one after the last completion
        assert 5 <= len(at) <= 40  # 16 on a machine with nothing else to do
        switches = [count for look in looks if (count := look.context_switches) is not None]
        assert switches
        assert switches == sorted(switches)
    in_midst = [look.in_flight for look in server_looks(resources) if 300e6 < look.at_ns < 700e6]
    assert in_midst
    assert set(in_midst) == {20}


def test_peaks_of_a_server_of_threads() -> None:
    with looked_at("threads:threads=50") as (server, sampler):
        peaks = seen(burst(server, sampler, "/sleep?ms=300", 80)).server
    assert peaks is not None
    assert peaks.threads is not None
    assert 51 <= peaks.threads <= 55
    assert peaks.in_flight == 50
    assert peaks.waiting == 30
    assert peaks.descriptors is not None
    assert peaks.descriptors > 80
    assert peaks.rss_bytes is not None
    assert 10e6 < peaks.rss_bytes < 500e6
    assert peaks.context_switches is not None
    assert peaks.context_switches >= 50


def test_the_whole_process_tree_is_seen() -> None:
    with looked_at("processes:workers=1") as (server, sampler):
        one = seen(burst(server, sampler, "/sleep?ms=100", 3)).server
    with looked_at("processes:workers=4") as (server, sampler):
        four = seen(burst(server, sampler, "/sleep?ms=100", 12)).server
    assert one is not None
    assert four is not None
    assert (one.threads, four.threads) == (2, 5)  # gunicorn's master, and each worker
    assert one.rss_bytes is not None
    assert four.rss_bytes is not None
    assert four.rss_bytes > 1.5 * one.rss_bytes
    assert four.in_flight == 4


def test_cpu_of_a_server_that_computes_is_seen() -> None:
    with looked_at("async") as (server, sampler):
        waiting = seen(burst(server, sampler, "/sleep?ms=400", 4)).server
        computing = seen(burst(server, sampler, "/block?ms=100", 4)).server
    assert waiting is not None
    assert computing is not None
    assert waiting.cpu_percent is not None
    assert computing.cpu_percent is not None
    assert computing.cpu_percent > waiting.cpu_percent
    assert computing.cpu_percent < 200  # one event loop, and what uvloop has beside it


def test_calibrated_waiting_and_accept_queue() -> None:
    with looked_at("calibrated:limit=5,service_ms=200,backlog=64") as (server, sampler):
        resources = seen(burst(server, sampler, "/sleep", 20))
    assert resources.server is not None
    assert (resources.server.in_flight, resources.server.waiting) == (5, 15)
    assert resources.queue_limit == min(64, somaxconn())


def test_accept_queue_fills() -> None:
    with looked_at("calibrated:connections=1,service_ms=100,backlog=64") as (server, sampler):
        resources = seen(burst(server, sampler, "/sleep", 12))
    assert resources.server is not None
    assert resources.server.queue is not None
    assert 5 <= resources.server.queue <= 12


@pytest.mark.parametrize("spec", ["node", "spring", "threads:threads=8", "aiohttp", "granian"])
def test_runtime_tells_garbage_collections(spec: str) -> None:
    requests = 8000 if spec == "node" else 400
    with looked_at(spec) as (server, sampler):
        plan = Plan(Target.parse(f"{server.url}/json"), Workload(requests, 16))
        with Session(plan, sampler=sampler, watched=watched(server)) as session:
            resources = seen(session.run(1))
    assert resources.collections is not None
    assert resources.server is not None
    assert resources.server.gc_pause_ms is not None
    assert sum(end - begin for begin, end in resources.collections) / 1e6 <= resources.server.gc_pause_ms + 5
    if spec == "node":  # 8,000 requests fill its young generation more than once
        assert resources.server.gc_pause_ms > 0


def test_server_that_was_not_started_here_is_found_by_its_port() -> None:
    """It is this process's own: the one that listens."""
    with Server() as server, Sampler() as sampler:
        plan = Plan(Target.parse(server.url("/sleep/100")), Workload(4, 4))
        with Session(plan, sampler=sampler) as session:
            resources = seen(session.run(1))
    assert resources.client is not None
    assert resources.server is None  # it is the generator's, and stands there


def test_rows_are_as_the_header_says() -> None:
    with looked_at("async") as (server, sampler):
        run = burst(server, sampler, "/sleep?ms=100", 4)
        again = burst(server, sampler, "/sleep?ms=100", 4)
    written = [*rows("async", run), *rows("async", again)]
    assert {len(row) for row in written} == {len(HEADER)}
    assert {row[:2] for row in written} == {("async", 1)}
    assert HEADER[2:4] == ("at_ns", "side")
    assert {row[3] for row in written} == {"server", "client"}


def test_sampler_takes_little() -> None:
    """Generously bounded; docs/resources.md has what was measured."""
    with looked_at("threads") as (server, sampler):
        assert sampler.pid is not None
        clock = (~sampler.pid << 3) | 2
        burst(server, sampler, "/sleep?ms=100", 10)
        before, begun = clock_gettime_ns(clock), perf_counter_ns()
        burst(server, sampler, "/sleep?ms=1500", 100)
        assert clock_gettime_ns(clock) - before < 0.1 * (perf_counter_ns() - begun)


def test_run_goes_on_where_the_sampler_has_been_killed() -> None:
    with looked_at("async") as (server, sampler):
        assert sampler.pid is not None
        burst(server, sampler, "/json", 4)
        os.kill(sampler.pid, 9)
        run = burst(server, sampler, "/json", 4)
        assert run.resources is None
        assert sampler.pid is None


def test_sampler_leaves_nothing_behind() -> None:
    with Sampler() as sampler:
        pid = sampler.pid
        assert pid is not None
    with pytest.raises(ProcessLookupError):  # which a zombie would not raise
        os.kill(pid, 0)


def test_run_that_came_to_no_end_leaves_nothing_open() -> None:
    with Sampler() as sampler:
        assert sampler.pid is not None
        process = psutil.Process(sampler.pid)
        sampler.begin(None, 1, [os.getpid()])
        before = process.num_fds()
        for _ in range(5):
            sampler.begin(None, 1, [os.getpid()])
        assert process.num_fds() == before
        resources = sampler.end(0)
    assert resources is not None
    assert resources.server is None
    assert resources.client is not None


def test_long_run_is_not_looked_at_as_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.resources.sampler._AS_CLOSELY", 2)
    watching = Watching({"server": None, "client": [os.getpid()]})
    for _ in range(6):
        watching.look()
    assert watching.wait_s() > 0.2
    assert len(watching.end()["looks"]) == 7
