"""A calibrated server in a process of its own, and a client that fires requests at the same moment."""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.support import DEADLINE_S, ask, eventually


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens."""

    process: subprocess.Popen[str]
    host: str
    port: int

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    def stats(self, query: str = "") -> dict[str, Any]:
        """Returns what /stats says."""
        stats: dict[str, Any] = ask(self, "/stats" + query).json
        return stats

    def connect(self) -> socket.socket:
        """Opens a blocking connection with a time limit."""
        return socket.create_connection(self.address, timeout=DEADLINE_S)


@contextlib.contextmanager
def running(*args: str, command: Sequence[str] = ("-m", "servers.calibrated")) -> Iterator[Running]:
    """Runs a server on a free port until the block ends, and checks that it then stops cleanly."""
    process = subprocess.Popen(
        [sys.executable, *command, "--port", "0", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("listening on http://"), line + process.stderr.read()
            host, _, port = line.removeprefix("listening on http://").strip().rpartition(":")
            yield Running(process, host.strip("[]"), int(port))
        except BaseException:
            process.kill()
            raise
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
        assert process.stderr.read() == ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One request of a burst: its place in it, its status, and when it was answered, in ms from the release."""

    index: int
    status: int
    done_ms: float


def burst(server: Running, targets: Sequence[str]) -> list[Answer]:
    """Fires one request a connection, all at once; returns the answers in the order in which they came."""
    selector = selectors.DefaultSelector()
    sockets = [socket.socket() for _ in targets]
    answers: list[Answer] = []
    with contextlib.ExitStack() as stack:
        stack.callback(selector.close)
        for sock in sockets:
            stack.callback(sock.close)
            sock.setblocking(False)
        release = time.monotonic()
        for index, (sock, target) in enumerate(zip(sockets, targets, strict=True)):
            with contextlib.suppress(BlockingIOError):
                sock.connect(server.address)
            sock.send(request(target, "Connection: close"))
            selector.register(sock, selectors.EVENT_READ, index)
        while len(answers) < len(targets):
            ready = selector.select(DEADLINE_S)
            assert ready, f"{len(answers)} of {len(targets)} answered"
            for key, _ in ready:
                done_ms = (time.monotonic() - release) * 1000
                answers.append(Answer(key.data, int(sockets[key.data].recv(4096)[9:12]), done_ms))
                selector.unregister(key.fileobj)
    return answers


def request(target: str, *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    """Returns the bytes of a request without a body."""
    return "\r\n".join((f"{method} {target} HTTP/{version}", "Host: test", *headers, "", "")).encode()


def read_all(sock: socket.socket) -> bytes:
    """Reads until the server closes."""
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def wait_until(condition: Callable[[], bool]) -> None:
    """Looks again and again until the condition holds."""
    assert eventually(condition, poll_s=0.001), "it did not come to that"


def listen_queue(port: int) -> int:
    """Returns how many connections the accept queue of a listening IPv4 port holds."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if state == "0A" and int(local.rpartition(":")[2], 16) == port:
            return int(queues.partition(":")[2], 16)
    raise AssertionError(f"nothing listens on {port}")
