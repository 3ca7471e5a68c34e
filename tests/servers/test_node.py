"""What is Node's own about the profile `node`: its hidden limits are lifted, and trouble is one line."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Iterator

import pytest

from servers.process import RunningServer, start
from tests.servers.support import ask, counted, eventually, runnable


@pytest.fixture(scope="module")
def node() -> Iterator[RunningServer]:
    with start(runnable("node")) as server:
        yield server


def exchange(server: RunningServer, request: bytes) -> bytes:
    """The beginning of the answer to these bytes."""
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(request)
        return connection.recv(65_536)


def test_idle_connections_are_kept_as_long_as_the_other_servers_keep_them(node: RunningServer) -> None:
    assert b"\r\nKeep-Alive: timeout=75\r\n" in exchange(node, b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n")


def test_requests_sent_together_are_answered_in_order(node: RunningServer) -> None:
    targets = [b"/sleep?ms=60", b"/sleep?ms=0", b"/sleep?ms=30"]
    with socket.create_connection((node.host, node.port), timeout=10) as connection:
        connection.sendall(b"".join(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % target for target in targets))
        answer = b""
        while answer.count(b"slept") < len(targets):
            data = connection.recv(65_536)
            assert data
            answer += data
    assert answer.index(b"slept 60") < answer.index(b"slept 0") < answer.index(b"slept 30")


def test_clients_that_go_away_do_no_harm(node: RunningServer) -> None:
    before = counted(node)
    half = b"POST /sleep HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"
    whole = b"GET /sleep?ms=50 HTTP/1.1\r\nHost: x\r\n\r\n"
    for request in (half, whole):
        with contextlib.closing(socket.create_connection((node.host, node.port), timeout=10)) as connection:
            connection.sendall(request)
    # Only the whole one was ever worked on, and it is to its end.
    assert eventually(lambda: counted(node).served == before.served + 1)
    assert counted(node).in_flight == 0
    assert ask(node, "/json").status == 200


def test_port_that_is_taken_is_one_line(node: RunningServer) -> None:
    command = node.instance.command(node.host, node.port)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"node: cannot listen on 127.0.0.1:{node.port}: ")
    assert "EADDRINUSE" in ended.stderr
    assert ended.stderr.count("\n") == 1
