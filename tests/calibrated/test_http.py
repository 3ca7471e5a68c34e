"""HTTP as clients speak it, well and badly, and the endpoints."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from tests.calibrated.harness import Running, read_all, request, running, wait_until
from tests.servers.support import DEADLINE_S, ask


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("--service-ms", "5") as server:
        yield server


def exchange(server: Running, sent: bytes) -> bytes:
    """Sends and reads until the server closes; the client goes on keeping its side open."""
    with server.connect() as sock:
        sock.sendall(sent)
        return read_all(sock)


def test_keep_alive_answers_one_after_another(server: Running) -> None:
    with server.connect() as sock:
        for _ in range(5):
            sock.sendall(request("/sleep"))
            answer = sock.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"Connection:" not in answer


def test_pipelined_requests_are_answered_in_order(server: Running) -> None:
    before = server.stats()["served"]
    targets = ("/sleep?ms=50", "/json", "/sleep?ms=1", "/block?ms=1", "/nothing", "/sleep?ms=x")
    sent = b"".join(map(request, targets)) + request("/sleep", "Connection: close") + request("/never")
    answers = exchange(server, sent).split(b"HTTP/1.1 ")[1:]
    bodies = [answer.partition(b"\r\n\r\n")[2] for answer in answers]
    assert bodies[0::2] == [b"slept 50 ms\n", b"slept 1 ms\n", bodies[4], b"slept 5 ms\n"]
    assert (b"loadrig" in bodies[1], bodies[3]) == (True, b"blocked 1 ms\n")
    assert [answer[:3] for answer in answers] == [b"200"] * 4 + [b"404", b"400", b"200"]
    assert server.stats()["served"] == before + 5


def test_connection_close_and_http_1_0(server: Running) -> None:
    assert b"Connection: close\r\n" in exchange(server, request("/sleep", "Connection: close"))
    assert b"Connection: close\r\n" in exchange(server, request("/sleep", version="1.0"))
    with server.connect() as sock:
        sock.sendall(request("/sleep", "Connection: keep-alive", version="1.0"))
        assert b"Connection: keep-alive\r\n" in sock.recv(4096)
        sock.sendall(request("/sleep", version="1.0"))
        assert b"Connection: close\r\n" in read_all(sock)


@pytest.mark.parametrize(
    ("header", "body"),
    [("Content-Length: 100000", b"x" * 100_000), ("Transfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n")],
)
def test_bodies_are_read_and_ignored(server: Running, header: str, body: bytes) -> None:
    with server.connect() as sock:
        for _ in range(2):
            sock.sendall(request("/sleep", header, method="POST") + body)
            assert sock.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_request_in_pieces(server: Running) -> None:
    with server.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request("/sleep", "Connection: close"):
            sock.sendall(bytes([byte]))
        assert read_all(sock).endswith(b"slept 5 ms\n")


def test_expect_continue(server: Running) -> None:
    with server.connect() as sock:
        sock.sendall(request("/sleep", "Content-Length: 2", "Expect: 100-continue", method="POST"))
        assert sock.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"ab")
        assert sock.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")


def test_an_upgrade_is_not_taken_up(server: Running) -> None:
    answer = exchange(server, request("/sleep", "Connection: Upgrade", "Upgrade: websocket"))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000,
        b"GET /" + b"x" * 200_000,
    ],
)
def test_what_is_not_http_gets_400_and_the_end(server: Running, sent: bytes) -> None:
    answer = exchange(server, sent)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"Connection: close" in head
    assert body.endswith(b"\n")
    assert body.count(b"\n") == 1
    assert ask(server, "/json").status == 200


def test_nonsense_after_a_request_is_refused_after_its_answer(server: Running) -> None:
    answers = exchange(server, request("/sleep") + b"nonsense\r\n\r\n").split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200", b"400"]


def test_clients_that_go_away_do_no_harm(server: Running) -> None:
    gone = server.stats()["gone"]
    server.connect().close()
    with server.connect() as sock:
        sock.sendall(b"GET /sl")
    with server.connect() as sock:
        sock.sendall(request("/sleep?ms=100"))
        wait_until(lambda: server.stats()["in_flight"] == 1)
        # No lingering: closing resets the connection.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: server.stats()["gone"] == gone + 1)
    wait_until(lambda: server.stats()["connections"]["open"] == 1)


def test_a_half_closed_client_gets_its_answer(server: Running) -> None:
    with server.connect() as sock:
        sock.sendall(request("/sleep?ms=30"))
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("query", ["reset=yes", "reset=2", "reset=1&reset=1"])
def test_bad_reset_is_a_400_that_says_what_is_accepted(server: Running, query: str) -> None:
    answer = ask(server, f"/stats?{query}")
    assert answer.status == 400
    assert answer.text.startswith("/stats accepts reset, a whole number from 0 to 1 (default 0)")


def test_a_path_may_be_escaped(server: Running) -> None:
    assert ask(server, "/%73leep?ms=%31").text == "slept 1 ms\n"


def test_a_service_of_parts_of_a_millisecond() -> None:
    with running("--service-ms", "2.5") as server:
        assert ask(server, "/sleep").headers["server-timing"] == "work;dur=2.500"


def test_endpoints_outside_of_the_limit() -> None:
    with running("--limit", "1", "--service-ms", "60000") as server, server.connect() as sock:
        sock.sendall(request("/sleep"))
        wait_until(lambda: server.stats()["in_flight"] == 1)
        assert ask(server, "/thread").json["thread"] == "MainThread"
        assert ask(server, "/json").status == 200
        stats = server.stats()
    assert (stats["in_flight"], stats["peak"], stats["served"], stats["waiting"]) == (1, 1, 2, 0)


def test_reset_zeroes_the_counters() -> None:
    with running("--service-ms", "1") as server:
        ask(server, "/sleep")
        assert server.stats("?reset=1")["served"] == 1
        stats = server.stats()
    assert (stats["served"], stats["peak"], stats["error"]["count"]) == (0, 0, 0)
    assert stats["connections"]["accepted"] == 1


def test_ipv6() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    with running("--host", "::1", "--service-ms", "1") as server:
        assert server.host == "::1"
        assert ask(server, "/sleep").status == 200


def test_it_stops_in_the_middle_of_work() -> None:
    with running("--service-ms", "60000") as server, server.connect() as sock, server.connect():
        sock.sendall(request("/sleep"))
        wait_until(lambda: server.stats()["in_flight"] == 1)
        server.process.terminate()
        assert server.process.wait(DEADLINE_S) == 0
        assert read_all(sock) == b""
