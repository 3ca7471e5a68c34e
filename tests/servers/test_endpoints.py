"""One suite over all servers and endpoints."""

from __future__ import annotations

import os
import re
import socket
import time

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from servers.process import RunningServer
from servers.work import ENDPOINTS, LOOKS, METRICS_PATH, MIXED_STEPS, STATS_PATH, integer_steps
from tests.servers.support import ask

UNMEASURED = {"node", "spring"}
"""Profiles in other languages: they have no /metrics."""


@pytest.mark.parametrize("path", ["/sleep", "/block"])
def test_waits_as_long_as_told(server: RunningServer, path: str) -> None:
    begun = time.perf_counter()
    answer = ask(server, f"{path}?ms=60")
    # uvloop's timers count whole milliseconds and may end one early.
    assert time.perf_counter() - begun >= 0.058
    assert answer.status == 200
    assert "60 ms" in answer.text
    timing = re.fullmatch(r"work;dur=([\d.]+)", answer.headers["server-timing"])
    assert timing is not None
    assert float(timing[1]) >= 58


def test_cpu_does_the_work_and_says_what_came_out(server: RunningServer) -> None:
    x = 1
    for _ in range(1000):
        x = (x * 1664525 + 1013904223) % 2**32
        x ^= x >> 17
    assert ask(server, "/cpu?steps=1000").json == {"steps": 1000, "result": x}


def test_mixed_waits_and_then_computes(server: RunningServer) -> None:
    begun = time.perf_counter()
    answer = ask(server, "/mixed?ms=60")
    # uvloop's timers count whole milliseconds and may end one early.
    assert time.perf_counter() - begun >= 0.058
    assert answer.json == {"ms": 60, "steps": MIXED_STEPS, "result": integer_steps(MIXED_STEPS)}
    assert float(answer.headers["server-timing"].removeprefix("work;dur=")) >= 58


def test_thread_tells_who_served(server: RunningServer) -> None:
    served_by = ask(server, "/thread").json
    assert os.getpgid(served_by["process"]) == server.pid
    assert (served_by["greenlet"] is not None) == (server.instance.profile.name == "greenlets")
    assert (served_by["task"] is not None) == (server.instance.profile.name in {"async", "granian", "aiohttp"})
    on_pool = server.instance.profile.name in {"threads", "gthread", "async-threadpool", "spring"}
    assert (served_by["thread_id"] != served_by["process"]) == on_pool


def test_json_is_the_same_small_document_each_time(server: RunningServer) -> None:
    first, second = ask(server, "/json"), ask(server, "/json")
    assert first.body == second.body
    assert first.headers["content-type"] == "application/json"
    assert first.json["name"] == "loadrig"
    assert len(first.body) < 1024


def test_downstream_tells_acquiring_from_working(server: RunningServer) -> None:
    timing = ask(server, "/downstream?ms=30").headers["server-timing"]
    match = re.fullmatch(r"acquire;dur=([\d.]+), work;dur=([\d.]+)", timing)
    assert match is not None
    assert float(match[2]) >= 28


def test_stats_does_not_count_itself(server: RunningServer) -> None:
    before = ask(server, STATS_PATH).json
    ask(server, "/json")
    after = ask(server, STATS_PATH).json
    assert after["in_flight"] == 0
    assert after["served"] == before["served"] + 1
    assert after["limit"] == server.instance.concurrency_limit
    # One that keeps no stats file announces no processes; it is one all the same.
    assert after["workers"] == (server.instance.processes or 1)


def test_metrics_are_the_counters_whichever_process_answers(server: RunningServer) -> None:
    if server.instance.profile.name in UNMEASURED:
        assert ask(server, METRICS_PATH).status == 404
        return
    before = scrape(server)["loadrig_server_requests_total"]
    for _ in range(5):
        ask(server, "/json")
    for _ in range(4):
        figures = scrape(server)
        assert figures["loadrig_server_requests_total"] == before + 5
        assert figures["loadrig_server_in_flight"] == 0
        assert figures["loadrig_server_peak_in_flight"] >= 1
        assert figures["loadrig_server_workers"] == server.instance.processes
        assert figures.get("loadrig_server_concurrency_limit") == server.instance.concurrency_limit
    tells_waiting = server.instance.profile.name in {"threads", "calibrated"}
    assert ("loadrig_server_waiting" in figures) == tells_waiting


def scrape(server: RunningServer) -> dict[str, float]:
    answer = ask(server, METRICS_PATH)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    return {sample.name: sample.value for family in families for sample in family.samples}


@pytest.mark.parametrize(
    "target",
    [
        "/sleep?ms=abc",
        "/sleep?ms=",
        "/sleep?ms=-1",
        "/sleep?ms=1.5",
        "/sleep?ms=600001",
        "/sleep?ms=" + "9" * 2000,
        "/sleep?seconds=1",
        "/sleep?ms=1&ms=2",
        "/sleep?ms=1&x=2",
        "/sleep?ms=%0A1",
        "/sleep?ms=%E2%91%A0",
        "/block?ms=60001",
        "/cpu?steps=1e3",
        "/downstream?ms=x",
    ],
)
def test_bad_parameter_gets_one_line_saying_what_is_accepted(server: RunningServer, target: str) -> None:
    answer = ask(server, target)
    assert answer.status == 400
    path = target.partition("?")[0]
    assert answer.text.startswith(f"{path} accepts {ENDPOINTS[path].parameter}")
    assert answer.text.count("\n") == 1
    assert len(answer.text) < 200


def test_refused_value_is_repeated_in_ascii(server: RunningServer) -> None:
    answer = ask(server, "/block?ms=%27%22%5C%09%7F%C3%A9%E2%82%AC%F0%9F%98%80%FF+")
    accepted = "/block accepts ms, a whole number from 0 to 60000 (default 1000), not"
    given = r"""'\'"\\\t\x7f\xe9\u20ac\U0001f600\ufffd '"""
    assert (answer.status, answer.text) == (400, f"{accepted} {given}\n")


@pytest.mark.parametrize("path", ["/json", "/thread", STATS_PATH])
def test_parameter_where_none_is_taken(server: RunningServer, path: str) -> None:
    answer = ask(server, f"{path}?ms=1")
    accepted = "no parameters"
    if path == STATS_PATH and server.instance.profile.name == "calibrated":
        accepted = "reset, a whole number from 0 to 1 (default 0), once, and nothing else"
    assert (answer.status, answer.text) == (400, f"{path} accepts {accepted}\n")


@pytest.mark.parametrize("path", ["/", "/nothing", "/sleep/", "/Sleep"])
def test_unknown_path_gets_the_paths_there_are(server: RunningServer, path: str) -> None:
    answer = ask(server, path)
    assert answer.status == 404
    looks = [STATS_PATH] if server.instance.profile.name in UNMEASURED else LOOKS
    assert answer.text == f"paths here: {' '.join([*ENDPOINTS, *looks])}\n"


@pytest.mark.parametrize("path", ["/json", STATS_PATH])
def test_other_methods_are_refused(server: RunningServer, path: str) -> None:
    answer = ask(server, path, "DELETE")
    assert (answer.status, answer.text) == (405, "methods accepted: GET, HEAD, POST\n")
    assert answer.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("target", ["/json", "/sleep?ms=1", STATS_PATH, "/nothing", "/sleep?ms=x"])
def test_head_has_the_headers_and_no_body(server: RunningServer, target: str) -> None:
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(f"HEAD {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while data := connection.recv(65_536):
            answer += data
    head, end, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 ")
    assert b"content-length" in head.lower()
    assert (end, body) == (b"\r\n\r\n", b"")


def test_post_with_a_large_body_then_another_request(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert client.post("/sleep?ms=1", content=b"x" * 3_000_000).text == "slept 1 ms\n"
        assert client.get("/json").status_code == 200


def test_many_requests_on_one_connection(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert {client.get("/sleep?ms=0").status_code for _ in range(50)} == {200}
