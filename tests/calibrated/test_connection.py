"""One connection without a server: what happens when the client does not take its answer."""

from __future__ import annotations

import asyncio
import socket

from servers.calibrated.connection import Connection
from servers.calibrated.reader import Request
from tests.calibrated.harness import request

PAYLOAD = b"x" * 5_000_000


class Answering:
    """A server that answers everything at once, and at length."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.ended = 0

    def begin(self, connection: Connection, request: Request) -> None:
        self.begun.append(request.target)
        assert connection.send(PAYLOAD)
        connection.answered()

    def catch_up(self) -> None:
        pass

    def read_after(self, delay_ns: int) -> None:
        raise AssertionError("a pair of sockets has no time stamps")

    def closed(self, connection: Connection) -> None:
        self.ended += 1


async def exchange() -> None:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    for sock in (ours, theirs):
        sock.setblocking(False)
    owner = Answering()
    with theirs:
        connection = Connection(ours, owner, loop, 0)
        connection.readable()
        await loop.sock_sendall(theirs, request("/1") + request("/2", "Connection: close"))
        received = bytearray(await loop.sock_recv(theirs, 1))
        assert owner.begun == [b"/1"], "the next request waits until the answer is taken"
        while part := await loop.sock_recv(theirs, 1_000_000):
            received += part
        assert received == PAYLOAD * 2
        assert owner.begun == [b"/1", b"/2"]
        assert (connection.is_closed, owner.ended) == (True, 1)


def test_an_answer_that_is_not_taken_is_kept() -> None:
    asyncio.run(exchange())


async def vanish() -> None:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    for sock in (ours, theirs):
        sock.setblocking(False)
    owner = Answering()
    connection = Connection(ours, owner, loop, 0)
    connection.readable()
    await loop.sock_sendall(theirs, request("/1"))
    await loop.sock_recv(theirs, 1)
    theirs.close()
    while not connection.is_closed:
        await asyncio.sleep(0)
    assert owner.ended == 1
    connection.close()
    assert owner.ended == 1
    assert not connection.send(b"too late")


def test_a_client_that_goes_away_in_the_middle_of_its_answer() -> None:
    asyncio.run(vanish())
