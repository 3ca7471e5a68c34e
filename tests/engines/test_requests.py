"""What arrives at the server: the request as given, and nothing that nobody asked for."""

from __future__ import annotations

import socket

import pytest

from loadgen.address import Address
from loadgen.errors import UsageError
from tests.engines.harness import fire, outcomes
from tests.engines.misbehave import MisbehavingServer


def test_only_what_a_request_needs_is_added(engine: str, server: MisbehavingServer) -> None:
    fire(engine, server.url("/echo"), 1)

    [request] = server.received
    lines = request.head.decode().split("\r\n")
    assert lines[0] == "GET /echo HTTP/1.1"
    names = {line.split(":")[0].lower() for line in lines[1:] if line}
    assert names == {"host", "user-agent", "connection"}
    assert request.headers("Host") == [f"127.0.0.1:{server.port}"]
    assert request.headers("User-Agent")[0].startswith("loadgen/")


def test_method_body_and_headers_arrive_as_given(engine: str, server: MisbehavingServer) -> None:
    headers = (
        ("X-One", "1"),
        ("x-CASE", "Kept As It Is"),
        ("X-One", "2"),
        ("Accept-Encoding", "gzip"),
        ("X-Empty", ""),
    )
    body = bytes(range(256)) * 40

    samples = fire(engine, server.url("/echo?a=1&b=%2F"), 3, method="PUT", headers=headers, body=body)

    assert outcomes(samples) == {"ok": 3}
    for request in server.received:
        assert request.method == "PUT"
        assert request.path == "/echo?a=1&b=%2F"
        assert request.body == body
        assert request.headers("X-One") == ["1", "2"]
        assert request.headers("Accept-Encoding") == ["gzip"]
        assert request.headers("Content-Length") == [str(len(body))]
        assert request.headers("Content-Type") == []
        assert b"\r\nx-CASE: Kept As It Is\r\n" in request.head
        assert len(request.headers("X-Empty")) == 1


def test_a_large_body_arrives(engine: str, server: MisbehavingServer) -> None:
    body = b"0123456789abcdef" * (3 * 65536)

    samples = fire(engine, server.url("/echo"), 2, method="POST", body=body)

    assert outcomes(samples) == {"ok": 2}
    assert all(request.body == body for request in server.received)


def test_the_users_own_headers_replace_the_defaults(engine: str, server: MisbehavingServer) -> None:
    fire(engine, server.url("/echo"), 1, headers=(("host", "other.test"), ("user-agent", "mine/1")))

    [request] = server.received
    assert request.headers("Host") == ["other.test"]
    assert request.headers("User-Agent") == ["mine/1"]


@pytest.mark.parametrize("path", ["/echo/a%20b/%7Euser?q=%E4&r=a+b", "/echo/(x)'!*,;=:@?x=/?"])
def test_the_path_is_not_quoted_again(engine: str, server: MisbehavingServer, path: str) -> None:
    fire(engine, server.url(path), 1)

    assert server.received[0].path == path


def test_a_redirect_is_not_followed(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/redirect"), 2)

    assert samples.status.tolist() == [302, 302]
    assert len(server.received) == 2


def test_cookies_are_not_kept(engine: str, server: MisbehavingServer) -> None:
    fire(engine, server.url("/set-cookie"), 5, 1)

    assert all(request.headers("Cookie") == [] for request in server.received)


def test_a_post_without_a_body_says_so(engine: str, server: MisbehavingServer) -> None:
    fire(engine, server.url("/echo"), 1, method="POST")

    assert server.received[0].headers("Content-Length") == ["0"]


def test_nothing_is_taken_from_the_environment(
    engine: str, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    samples = fire(engine, server.url("/ok"), 3)

    assert outcomes(samples) == {"ok": 3}


def test_the_address_is_used_and_the_host_not_resolved(engine: str, server: MisbehavingServer) -> None:
    """Names under .invalid have no address (RFC 6761)."""
    address = Address(socket.AF_INET, ("127.0.0.1", server.port))

    samples = fire(engine, f"http://shop.invalid:{server.port}/ok", 3, address=address)

    assert outcomes(samples) == {"ok": 3}
    assert server.received[0].headers("Host") == [f"shop.invalid:{server.port}"]


@pytest.mark.parametrize("library", ["httpx"])
def test_a_request_that_the_library_refuses_is_misuse(library: str, server: MisbehavingServer) -> None:
    with pytest.raises(UsageError, match="httpx does not send this request"):
        fire(library, server.url("/ok"), 3, headers=(("Content-Length", "7"),), body=b"four")
