"""The bench itself, in its quick mode, and the two C programs under it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.native import compile_program, find_compiler
from bench.processes import ReferenceServer, run

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or find_compiler() is None, reason="the reference server needs Linux and a C compiler"
)

ROOT = Path(__file__).parent.parent.parent


def bench(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bench", *arguments]


@pytest.fixture
def server() -> Iterator[ReferenceServer]:
    with ReferenceServer(compile_program("server")) as running:
        yield running


def exchange(server: ReferenceServer, *pieces: bytes) -> bytes:
    """Sends the pieces and returns all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece)
        received = b""
        while data := connection.recv(65536):
            received += data
        return received


def test_a_quick_burst_measures_and_prints() -> None:
    done = subprocess.run(
        bench("--quick", "--only", "burst", "--peers", "none"), cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "N = 200" in done.stdout
    assert "| floor (C)" in done.stdout
    assert "| loadgen" in done.stdout


def test_no_compiler_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        bench("--quick"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no C compiler" in done.stderr


def test_an_interrupt_leaves_no_process() -> None:
    child = subprocess.Popen(
        bench("--quick", "--only", "burst", "--peers", "none"),
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stderr is not None
    with child.stderr:
        assert "floor" in child.stderr.readline()  # loadgen's burst of a second begins
        descendants = children_of(child.pid)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 130
    assert descendants
    deadline = time.monotonic() + 10
    while any(map(is_alive, descendants)):
        assert time.monotonic() < deadline


def children_of(pid: int) -> list[int]:
    """Waits until there are some."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if found:
            return list(map(int, found))
    return []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_server_answers_a_request_that_comes_in_pieces(server: ReferenceServer) -> None:
    answer = exchange(server, b"GET / HT", b"TP/1.1\r\nConnection: close\r\n", b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nok\n")


def test_the_server_answers_pipelined_requests_in_order(server: ReferenceServer) -> None:
    one, last = b"GET /sleep/20 HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
    answers = exchange(server, one + one + last).split(b"HTTP/1.1 ")[1:]
    assert [b"Connection: close" in answer for answer in answers] == [False, False, True]


@pytest.mark.parametrize(
    "request_", [b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na", b"GET /sleep/x HTTP/1.1\r\n\r\n", b"x" * 4096]
)
def test_the_server_refuses_what_it_does_not_take(server: ReferenceServer, request_: bytes) -> None:
    try:
        answer = exchange(server, request_)
    except ConnectionResetError:  # it closed with bytes of ours unread
        return
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_the_server_speaks_http_1_0(server: ReferenceServer) -> None:
    assert b"Connection: close" in exchange(server, b"GET / HTTP/1.0\r\n\r\n")
    kept = exchange(server, b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n")
    assert kept.count(b"200 OK") == 2


def test_the_server_waits_as_long_as_it_is_told_whatever_the_order(server: ReferenceServer) -> None:
    begun = time.monotonic()
    connections = []
    for ms in (300, 100, 200):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        connection.sendall(b"GET /sleep/%d HTTP/1.1\r\n\r\n" % ms)
        connections.append((ms, connection))
    for ms, connection in sorted(connections, key=lambda pair: pair[0]):
        with connection:
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK")
        assert time.monotonic() - begun >= ms / 1000


def test_the_server_forgets_an_answer_whose_client_has_gone(server: ReferenceServer) -> None:
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as gone:
            gone.sendall(b"GET /sleep/50 HTTP/1.1\r\n\r\n")
    answer = exchange(server, b"GET /sleep/100 HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert answer.count(b"200 OK") == 1


def test_a_child_that_outlives_its_time_is_ended() -> None:
    finished = run(["sleep", "60"], limit_s=0.2)
    assert finished.complaint == "did not end in time"
    assert finished.status == -signal.SIGTERM
