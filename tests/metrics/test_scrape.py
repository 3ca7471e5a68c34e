"""/metrics of the generator, as a scrape gets it."""

from __future__ import annotations

import socket
import urllib.error

import pytest

from loadgen.metrics.protobuf import CONTENT_TYPE
from tests.cli.conftest import Loadgen
from tests.metrics.support import Generator, fetch, generating, samples_of
from tests.servers.support import eventually
from tests.support import Server

OPENMETRICS = "application/openmetrics-text; version={}"


def value(generator: Generator, name: str, **labels: str) -> float:
    return samples_of(fetch(generator.url).decode())[name, frozenset(labels.items())]


def test_requests_in_flight_are_seen_while_they_are(server: Server) -> None:
    with generating(server.url("/never"), "--n", "7") as generator:
        server.wait_for_requests(7)
        assert eventually(lambda: value(generator, "loadgen_in_flight") == 7)
        assert value(generator, "loadgen_requests_total", outcome="ok") == 0
        generator.interrupt()


def test_a_load_in_progress_only_ever_counts_up(server: Server) -> None:
    with generating(server.url(), "-c", "4", "-z", "60s") as generator:
        counts = [value(generator, "loadgen_requests_total", outcome="ok") for _ in range(6)]
        assert eventually(lambda: value(generator, "loadgen_requests_total", outcome="ok") > counts[-1])
        generator.interrupt()
    assert counts == sorted(counts)


def test_runs_are_added_up_and_the_warm_up_is_not_among_them(server: Server) -> None:
    with generating(server.url(), "--n", "5", "--warmup", "1", "--runs", "3", "--pause", "200ms") as generator:
        seen = set()

        def last_run() -> bool:
            figures = samples_of(fetch(generator.url).decode())
            runs = figures["loadgen_runs_total", frozenset()]
            if figures["loadgen_in_flight", frozenset()] == 0:
                seen.add((runs, figures["loadgen_response_time_seconds_count", frozenset()]))
            return runs == 2

        assert eventually(last_run)
        generator.interrupt()
    assert (2, 10) in seen


@pytest.mark.parametrize("accept", ["", "text/plain", OPENMETRICS.format("1.0.0"), CONTENT_TYPE])
def test_each_form_that_prometheus_asks_for(server: Server, accept: str) -> None:
    with generating(server.url(), "--n", "5", "--runs", "2", "--pause", "60s") as generator:
        assert eventually(lambda: value(generator, "loadgen_runs_total") == 1)
        body = fetch(generator.url, accept)
        assert b"loadgen_response_time_seconds" in body
        assert body.endswith(b"# EOF\n") == accept.startswith("application/openmetrics")
        generator.interrupt()


def test_another_path_is_told_the_one_there_is(server: Server) -> None:
    with generating(server.url(), "--n", "5", "--runs", "2", "--pause", "60s") as generator:
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(generator.url.removesuffix("/metrics"))
        with refused.value as answer:
            assert (answer.code, answer.read()) == (404, b"paths here: /metrics\n")


def test_a_port_in_use_is_one_line_before_anything_is_fired(loadgen: Loadgen, server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = loadgen(server.url(), "--metrics-port", str(port))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"loadgen: --metrics-port {port}: Address already in use; give a free port, or 0 for any\n"
    assert not server.received


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_what_is_no_port_is_refused(loadgen: Loadgen, server: Server, port: str) -> None:
    ended = loadgen(server.url(), f"--metrics-port={port}")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert "--metrics-port" in ended.stderr
    assert not server.received
