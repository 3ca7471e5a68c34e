"""HTTP/2 through the httpx engine."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
import trustme

from loadgen.errors import UsageError
from tests.engines.h2_server import H2Server
from tests.engines.harness import fire, outcomes
from tests.engines.misbehave import MisbehavingServer


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[H2Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with H2Server(tls=context) as server:
        yield server


@pytest.fixture
def plain() -> Iterator[H2Server]:
    with H2Server() as server:
        yield server


def test_over_tls(secure: H2Server, cacert: str) -> None:
    samples = fire("httpx", f"https://127.0.0.1:{secure.port}/ok?a=1", 10, http2=True, cacert=cacert)

    assert outcomes(samples) == {"ok": 10}
    assert samples.status.tolist() == [200] * 10
    assert secure.accepted == 10
    assert secure.received[0][":path"] == "/ok?a=1"
    assert secure.received[0][":authority"] == f"127.0.0.1:{secure.port}"
    assert "connection" not in secure.received[0]


def test_with_prior_knowledge(plain: H2Server) -> None:
    samples = fire("httpx", f"http://127.0.0.1:{plain.port}/ok", 5, http2=True, method="POST", body=b"body")

    assert outcomes(samples) == {"ok": 5}
    assert plain.bodies == [b"body"] * 5


def test_placeholders_are_filled_in(plain: H2Server) -> None:
    fire("httpx", f"http://127.0.0.1:{plain.port}/ok?n={{seq}}", 4, 2, http2=True, method="POST", body=b"n={seq}")

    assert sorted(request[":path"] for request in plain.received) == [f"/ok?n={number}" for number in range(4)]
    assert sorted(plain.bodies) == [b"n=%d" % number for number in range(4)]


def test_below_a_burst_connections_are_used_again(plain: H2Server) -> None:
    samples = fire("httpx", f"http://127.0.0.1:{plain.port}/ok", 20, 4, http2=True)

    assert outcomes(samples) == {"ok": 20}
    assert plain.accepted == 4
    assert samples.reused.sum() == 16


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/status/404", "http-4xx"),
        ("/status/503", "http-5xx"),
        ("/never", "timeout"),
        ("/reset-stream", "reset"),
        ("/close", "closed"),
    ],
)
def test_outcomes(plain: H2Server, path: str, label: str) -> None:
    timeout_s = 0.5 if path == "/never" else 10.0

    samples = fire("httpx", f"http://127.0.0.1:{plain.port}{path}", 3, http2=True, timeout_s=timeout_s)

    assert outcomes(samples) == {label: 3}


def test_a_server_that_speaks_http_1_only_is_not_measured_in_its_place(server: MisbehavingServer) -> None:
    samples = fire("httpx", server.url("/garbage"), 3, http2=True)

    assert not samples.ok.any()
    assert set(outcomes(samples)) <= {"protocol", "closed", "reset"}


def test_cancellation(plain: H2Server) -> None:
    url = f"http://127.0.0.1:{plain.port}/never"

    samples = fire("httpx", url, 8, 4, http2=True, cancel_after=lambda: plain.wait_until_received(4))

    assert outcomes(samples) == {"cancelled": 8}
    plain.wait_until_all_closed()


def test_a_connection_header_is_misuse(plain: H2Server) -> None:
    with pytest.raises(UsageError, match=r"^HTTP/2 has no Connection header"):
        fire("httpx", f"http://127.0.0.1:{plain.port}/", 1, http2=True, headers=(("Connection", "close"),))
