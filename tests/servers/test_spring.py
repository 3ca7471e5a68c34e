"""What is Spring's own, beside the suites over all servers."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.ports import says_port_in_use
from servers.process import RunningServer, start
from servers.work import POOL_SIZE
from tests.servers.support import accept_queue_length, ask, ask_many, asking, counted, eventually, runnable
from tests.servers.test_knobs import acquire_ms


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    spec = "spring:virtual=true,accept_count=64"
    with start(runnable(spec), "::1", directory=tmp_path_factory.mktemp("virtual")) as server:
        yield server


def test_virtual_threads_serve_and_say_so(virtual: RunningServer) -> None:
    thread = ask(virtual, "/thread").json["thread"]
    handler, carrier = r"VirtualThread\[#\d+,tomcat-handler-\d+\]", r"ForkJoinPool-1-worker-\d+"
    assert re.fullmatch(rf"{handler}/runnable@{carrier} virtual=true", thread)


def test_virtual_threads_set_no_limit(virtual: RunningServer) -> None:
    with asking(virtual, "/sleep?ms=1500", 30) as answers:
        assert eventually(lambda: counted(virtual).in_flight == 30)
    assert {answer.result().status for answer in answers} == {200}


def test_accept_count_is_the_length_of_the_accept_queue(virtual: RunningServer) -> None:
    assert virtual.url == f"http://[::1]:{virtual.port}"
    assert accept_queue_length(virtual.port, socket.AF_INET6) == 64


def test_downstream_is_a_pool(virtual: RunningServer) -> None:
    answers = ask_many(virtual, "/downstream?ms=1000", 2 * POOL_SIZE)
    # A place is free again only after 1,000 ms, less the time by which a request came later.
    assert sum(acquire_ms(answer.headers["server-timing"]) > 100 for answer in answers) == POOL_SIZE


def test_threads_of_tomcat_serve_by_default(tmp_path: Path) -> None:
    with start(runnable("spring"), directory=tmp_path) as server:
        served_by = ask(server, "/thread").json
    number = served_by["thread_id"]
    thread = rf"Thread\[#{number},http-nio-127\.0\.0\.1-{server.port}-exec-\d+,5,main\] virtual=false"
    assert re.fullmatch(thread, served_by["thread"])


def test_taken_port_is_known_from_its_own_words() -> None:
    log = (
        "Description:\n\nWeb server failed to start. Port 8080 was already in use.\n\nAction:\n\nIdentify and stop the"
    )
    assert says_port_in_use(log)
