"""What the server gets, and what stands for it in the figures."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.cli.conftest import Loadgen
from tests.support import Server


def document(loadgen: Loadgen, *arguments: str) -> dict[str, Any]:
    """The only run of the JSON document."""
    run: dict[str, Any] = json.loads(loadgen(*arguments, "--output-format", "json").stdout)["runs"][0]
    return run


def test_one_request(loadgen: Loadgen, server: Server) -> None:
    run = document(loadgen, server.url("/a%20b?c=d"), "-n", "1")
    assert (run["requests"], run["ok"], run["concurrency"]) == (1, 1, 1)
    assert run["min_ms"] == run["p50_ms"] == run["max_ms"] == run["mean_ms"]
    (request,) = server.received
    assert (request.method, request.path, request.body) == ("GET", "/a%20b?c=d", b"")
    assert request.header("Host") == f"127.0.0.1:{server.port}"
    assert request.header("User-Agent") == "loadgen/0.1.0"
    assert request.header("Connection") == "close"


def test_one_at_a_time_on_one_connection(loadgen: Loadgen, server: Server) -> None:
    run = document(loadgen, server.url("/sleep/1"), "-n", "20", "-c", "1")
    assert (run["ok"], run["concurrency"]) == (20, 1)
    assert (server.connections, server.peak) == (1, 1)
    assert server.received[0].header("Connection") is None


def test_a_body_and_headers_arrive_as_given(loadgen: Loadgen, server: Server, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(bytes(range(256)) * 300)  # more than one read, and not text
    loadgen(server.url(), "-n", "2", "--body-file", str(body), "-H", "X-b: 1", "-H", "x-A:  2 ", "-H", "X-b: ü",
            "-H", "Host: other.example", "-m", "PUT")  # fmt: skip
    for request in server.received:
        assert request.method == "PUT"
        assert request.body == body.read_bytes()
        assert [pair for pair in request.headers if pair[0].lower().startswith("x-")] == [
            ("X-b", "1"), ("x-A", "2"), ("X-b", "ü"),
        ]  # fmt: skip
        assert request.header("Host") == "other.example"


def test_a_body_makes_it_a_post(loadgen: Loadgen, server: Server) -> None:
    loadgen(server.url(), "-n", "1", "--body", '{"größe": 1}')
    (request,) = server.received
    assert (request.method, request.body) == ("POST", '{"größe": 1}'.encode())
    assert request.header("Content-Length") == str(len(request.body))


def test_head_is_answered_without_a_body_and_the_connection_goes_on(loadgen: Loadgen, server: Server) -> None:
    run = document(loadgen, server.url(), "-n", "6", "-c", "2", "-m", "HEAD")
    assert run["ok"] == 6
    assert server.connections == 2
    assert {request.method for request in server.received} == {"HEAD"}


@pytest.mark.parametrize(("status", "failures"), [("204", {}), ("404", {"http-4xx": 2}), ("503", {"http-5xx": 2})])
def test_a_status_of_400_or_more_is_failed(
    loadgen: Loadgen, server: Server, status: str, failures: dict[str, int]
) -> None:
    run = document(loadgen, server.url(f"/status/{status}"), "-n", "2")
    assert run["failures"] == failures


def test_a_proxy_in_the_environment_is_not_used(
    loadgen: Loadgen, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert document(loadgen, server.url(), "-n", "2")["ok"] == 2


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_ipv6(loadgen: Loadgen) -> None:
    with Server("::1") as server:
        run = document(loadgen, server.url(), "-n", "3")
        assert (run["ok"], run["address"]) == (3, f"[::1]:{server.port}")
        assert server.received[0].header("Host") == f"[::1]:{server.port}"


def test_localhost_finds_a_server_on_127_0_0_1_alone(loadgen: Loadgen, server: Server) -> None:
    run = document(loadgen, f"http://localhost:{server.port}/", "-n", "3")
    assert (run["ok"], run["address"]) == (3, f"127.0.0.1:{server.port}")
    assert {request.header("Host") for request in server.received} == {f"localhost:{server.port}"}


# TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def cacert(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def test_a_certificate_of_an_authority_that_is_named_is_accepted(
    loadgen: Loadgen, tls: ssl.SSLContext, cacert: str
) -> None:
    with Server(tls=tls) as server:
        assert document(loadgen, server.url(), "-n", "4", "--cacert", cacert)["ok"] == 4
        assert document(loadgen, server.url(), "-n", "4", "-c", "2", "--cacert", cacert)["ok"] == 4


def test_a_certificate_of_another_authority_is_a_failed_request(loadgen: Loadgen, tls: ssl.SSLContext) -> None:
    with Server(tls=tls) as server:
        ended = loadgen(server.url(), "-n", "3")
        assert "\nfailed: tls=3\n" in ended.stdout
        assert ended.returncode == 3
        assert server.received == []


def test_a_certificate_for_another_name_is_a_failed_request(loadgen: Loadgen, tls: ssl.SSLContext, cacert: str) -> None:
    with Server(tls=tls) as server:
        url = f"https://localhost:{server.port}/"
        assert document(loadgen, url, "-n", "3", "--cacert", cacert)["failures"] == {"tls": 3}


def test_insecure_accepts_any_certificate(loadgen: Loadgen, tls: ssl.SSLContext) -> None:
    with Server(tls=tls) as server:
        assert document(loadgen, server.url(), "-n", "3", "--insecure")["ok"] == 3


def test_tls_at_a_server_without_it_is_a_failed_request(loadgen: Loadgen, server: Server) -> None:
    run = document(loadgen, f"https://127.0.0.1:{server.port}/", "-n", "2", "--timeout", "500ms")
    assert sum(run["failures"].values()) == 2
    assert set(run["failures"]) <= {"tls", "timeout", "closed", "reset"}
