"""Each knob does what it says, on the real server."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from servers.catalog import parse_spec
from servers.errors import StartError
from servers.process import start
from servers.stats import Counters
from servers.work import POOL_SIZE, STATS_PATH
from tests.servers.support import (
    accept_queue_length,
    ask,
    ask_many,
    asking,
    counted,
    eventually,
    runnable,
    somaxconn,
)


@pytest.mark.parametrize(
    ("spec", "count", "peak"),
    [
        ("threads:threads=3", 10, 3),
        ("threads:threads=10,connections=4", 10, 4),
        ("gthread:threads=3", 10, 3),
        ("processes:workers=3", 10, 3),
        ("async-threadpool:tokens=5", 12, 5),
        ("greenlets", 30, 30),
        ("async", 30, 30),
        ("node", 30, 30),
        ("spring:threads=3", 10, 3),
        ("granian:backpressure=4", 10, 4),
        ("granian", 30, 30),
        ("aiohttp", 30, 30),
        ("calibrated:limit=3", 10, 3),
        ("calibrated:connections=4", 10, 4),
        ("calibrated", 30, 30),
    ],
)
def test_works_on_as_many_at_once_as_it_says(spec: str, count: int, peak: int) -> None:
    with start(runnable(spec)) as server:
        with asking(server, "/sleep?ms=250", count) as answers:
            assert eventually(lambda: counted(server).in_flight == peak)
        assert {answer.result().status for answer in answers} == {200}
        assert figures(counted(server)) == (0, peak, count)
        stats = ask(server, STATS_PATH).json
        assert (stats["in_flight"], stats["peak"], stats["served"]) == (0, peak, count)
        assert server.instance.concurrency_limit in (None, peak) or spec == "granian"
        if server.instance.processes:
            server.reset_peak()
            assert figures(counted(server)) == (0, 0, count)


def figures(counters: Counters) -> tuple[int, int, int]:
    return counters.in_flight, counters.peak, counters.served


def test_stats_answers_while_every_token_is_taken() -> None:
    with start(parse_spec("async-threadpool:tokens=2")) as server, asking(server, "/sleep?ms=500", 4) as answers:
        assert eventually(lambda: counted(server).in_flight == 2)
        assert ask(server, STATS_PATH).json["in_flight"] == 2
        assert not any(answer.done() for answer in answers)


@pytest.mark.parametrize(
    "spec", ["gthread:threads=2,workers=3", "processes:workers=3", "async:workers=3", "granian:workers=3"]
)
def test_workers_are_processes_of_their_own(spec: str) -> None:
    with start(parse_spec(spec)) as server:
        seen: set[int] = set()

        def all_have_served() -> bool:
            with asking(server, "/block?ms=30", 6):
                seen.update(answer.json["process"] for answer in ask_many(server, "/thread", 12))
            return len(seen) >= 3

        assert eventually(all_have_served)
        assert len(seen) == 3


def test_calibrated_works_as_long_as_its_knobs_say() -> None:
    with start(parse_spec("calibrated:limit=1,service_ms=80,jitter_ms=20")) as server:
        work = [float(ask(server, "/sleep").headers["server-timing"].partition("dur=")[2]) for _ in range(8)]
        assert ask(server, "/sleep").text == "slept 80 ms\n"
        assert ask(server, "/sleep?ms=x").text.startswith(
            "/sleep accepts ms, a whole number from 0 to 600000 (default 80)"
        )
    assert all(60 <= ms <= 100 for ms in work)
    assert len(set(work)) > 1


def test_calibrated_sheds_beyond_its_limit() -> None:
    with start(parse_spec("calibrated:limit=2,shed=1")) as server, asking(server, "/sleep?ms=500", 5) as answers:
        assert sorted(answer.result().status for answer in answers) == [200, 200, 503, 503, 503]
        assert figures(counted(server)) == (0, 2, 2)


def test_calibrated_stands_still_as_told() -> None:
    with start(parse_spec("calibrated:stall=200/100")) as server:
        assert eventually(lambda: ask(server, STATS_PATH).json["stalls"]["count"] >= 2)
        stalls = ask(server, STATS_PATH).json["stalls"]
    assert stalls["total_ms"] == pytest.approx(100 * stalls["count"], rel=0.5)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("calibrated:shed=1", "shed: needs a limit above 0 to shed beyond"),
        ("calibrated:service_ms=10,jitter_ms=20", "jitter_ms: accepted is 0 to the service time, not 20.0"),
    ],
)
def test_calibrated_knobs_that_do_not_go_together(spec: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match=rf"ended \(exit status 2\) before it was ready: calibrated: {says}$"):
        start(parse_spec(spec), directory=tmp_path)


def test_limit_concurrency_refuses_from_the_connection_that_it_names() -> None:
    with start(parse_spec("async:limit_concurrency=4")) as server:
        assert server.instance.concurrency_limit == 3
        with asking(server, "/sleep?ms=1000", 3) as answers:
            assert eventually(lambda: counted(server).in_flight == 3)
            assert ask(server, "/json").status == 503
        assert {answer.result().status for answer in answers} == {200}
        assert ask(server, "/json").status == 200


@pytest.mark.parametrize(
    ("spec", "backlog"),
    [
        ("threads:", 7),
        ("gthread:", 7),
        ("greenlets:", 7),
        ("processes:", 7),
        ("async:", 7),
        ("async:workers=2,", 7),
        ("async-threadpool:", 7),
        ("granian:", 131),
        ("granian:workers=2,", 131),
        ("aiohttp:", 7),
        ("node:", 7),
        ("calibrated:", 7),
    ],
)
def test_accept_queue_is_as_long_as_asked_and_ipv6_is_served(spec: str, backlog: int) -> None:
    with start(runnable(f"{spec}backlog={backlog}"), "::1") as server:
        assert server.url == f"http://[::1]:{server.port}"
        assert ask(server, "/json").status == 200
        assert accept_queue_length(server.port, socket.AF_INET6) == backlog


def test_accept_queue_is_no_longer_than_the_kernel_allows() -> None:
    with start(parse_spec("threads:backlog=60000")) as server:
        assert accept_queue_length(server.port) == min(60_000, somaxconn())


@pytest.mark.parametrize(
    "spec",
    [
        "threads:threads=60",
        "greenlets",
        "async",
        "async-threadpool:tokens=60",
        "granian",
        "aiohttp",
        "node",
        "calibrated",
    ],
)
def test_downstream_is_a_pool(spec: str) -> None:
    with start(runnable(spec)) as server:
        answers = ask_many(server, "/downstream?ms=300", 2 * POOL_SIZE)
    acquired = sorted(acquire_ms(answer.headers["server-timing"]) for answer in answers)
    # Half of them got a place at once; a place is free again only after 300 ms, less the time by which they came later.
    assert sum(ms > 100 for ms in acquired) == POOL_SIZE


def acquire_ms(timing: str) -> float:
    match = re.match(r"acquire;dur=([\d.]+)", timing)
    assert match is not None
    return float(match[1])
