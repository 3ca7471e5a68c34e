"""What the tests of `servers` share: a client, conditions to wait for, and what the kernel says of a listener."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import psutil
import pytest

from servers.catalog import Instance, parse_spec
from servers.errors import RuntimeMissing
from servers.process import RunningServer
from servers.stats import Counters
from servers.work import STATS_PATH

SPECS = [
    "threads:threads=8",
    "gthread:threads=8",
    "gthread:threads=8,workers=2",
    "greenlets",
    "processes",
    "async",
    "async:workers=2",
    "async-threadpool",
    "node",
    "spring",
    "granian",
    "granian:workers=2",
    "aiohttp",
    "calibrated",
]
"""One server a library and manner; each test of endpoints and of stopping runs on all of them."""

DEADLINE_S = 20.0


def runnable(spec: str) -> Instance:
    """The instance of a spec; skips the test where what its server runs on is missing."""
    instance = parse_spec(spec)
    try:
        instance.require_runtime()
    except RuntimeMissing as missing:
        pytest.skip(str(missing))
    return instance


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Listening(Protocol):
    """Where a server is, whoever started it."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


def ask(server: Listening, path: str, method: str = "GET", body: bytes | None = None) -> Answer:
    """One request on a connection of its own, which is closed after it."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=DEADLINE_S)
    with contextlib.closing(connection):
        connection.request(method, path, body=body, headers={"Connection": "close"})
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())


@contextlib.contextmanager
def asking(server: Listening, path: str, count: int) -> Iterator[list[Future[Answer]]]:
    """`count` requests at once, under way within the block and done after it."""
    with ThreadPoolExecutor(count) as pool:
        yield [pool.submit(ask, server, path) for _ in range(count)]


def ask_many(server: Listening, path: str, count: int) -> list[Answer]:
    with asking(server, path, count) as answers:
        return [answer.result() for answer in answers]


def counted(server: RunningServer) -> Counters:
    """What it counted: read from outside, so that it is known while every thread is taken, or asked for."""
    return server.stats() or Counters(**ask(server, STATS_PATH).json)


def eventually(condition: Callable[[], object], deadline_s: float = DEADLINE_S, poll_s: float = 0.01) -> bool:
    """Whether the condition comes true before the deadline."""
    deadline = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll_s)
    return True


def group_of(pid: int) -> set[int]:
    """The living processes of the process group `pid`."""
    members = set()
    for process in psutil.process_iter():
        # A process may end while it is looked at.
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                members.add(process.pid)
    return members


def accept_queue_length(port: int, family: socket.AddressFamily = socket.AF_INET) -> int:
    """The length of a listening socket's accept queue, from the kernel's sock_diag (/proc/net/tcp does not tell it)."""
    listen, request_type, dump = 1 << 10, 20, 0x301
    body = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 0, listen)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), request_type, dump, 0, 0) + body)
        while True:
            data = netlink.recv(65_536)
            while data:
                size, kind = struct.unpack_from("=IH", data)
                if kind != request_type:
                    raise LookupError(f"nobody listens on {port}")
                if struct.unpack_from("!H", data, 16 + 4)[0] == port:
                    length: int = struct.unpack_from("=I", data, 16 + 60)[0]
                    return length
                data = data[(size + 3) & ~3 :]


def somaxconn() -> int:
    with open("/proc/sys/net/core/somaxconn") as setting:  # noqa: PTH123  # a kernel setting, not a file
        return int(setting.read())
