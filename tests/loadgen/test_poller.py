from __future__ import annotations

import select
import selectors
import socket
from collections.abc import Callable, Iterator

import pytest

from loadgen.engines.wire.poller import READ, WRITE, Poller, SelectorPoller, make_poller


def over_epoll() -> Poller:
    return SelectorPoller(selectors.EpollSelector())


makers = [
    pytest.param(make_poller, id="platform"),
    pytest.param(SelectorPoller, id="selector"),
    pytest.param(
        over_epoll, id="selector-epoll", marks=pytest.mark.skipif(not hasattr(select, "epoll"), reason="epoll")
    ),
]


@pytest.fixture(params=makers)
def poller(request: pytest.FixtureRequest) -> Iterator[Poller]:
    make: Callable[[], Poller] = request.param
    poller = make()
    yield poller
    poller.close()


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def ready(poller: Poller) -> dict[int, int]:
    return dict(poller.poll(0, 512))


def test_readiness_comes_and_goes_with_what_a_socket_is_watched_for(
    poller: Poller, ends: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = ends
    fd = ours.fileno()
    assert ready(poller) == {}
    poller.register(fd, WRITE)
    assert ready(poller) == {fd: WRITE}
    poller.modify(fd, READ)
    assert ready(poller) == {}
    theirs.send(b"x")
    assert ready(poller) == {fd: READ}
    poller.modify(fd, READ | WRITE)
    assert ready(poller) == {fd: READ | WRITE}
    assert ready(poller) == {fd: READ | WRITE}, "told again while it lasts"
    poller.modify(fd, READ)
    ours.recv(1)
    assert ready(poller) == {}
    poller.unregister(fd)
    theirs.send(b"x")
    assert ready(poller) == {}
    poller.register(fd, READ)
    assert ready(poller) == {fd: READ}


def test_a_closed_peer_makes_a_socket_ready_to_read(poller: Poller, ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    poller.register(ours.fileno(), READ)
    theirs.close()
    assert ready(poller)[ours.fileno()] & READ


def test_the_pollers_own_descriptor_is_readable_while_any_socket_is_ready(
    poller: Poller, ends: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = ends
    poller.register(ours.fileno(), READ)
    assert select.select([poller.fileno()], [], [], 0)[0] == []
    theirs.send(b"x")
    assert select.select([poller.fileno()], [], [], 0)[0] == [poller.fileno()]


def test_a_socket_that_took_a_closed_ones_number_is_watched_anew(poller: Poller) -> None:
    first, first_peer = socket.socketpair()
    number = first.fileno()
    poller.register(number, READ)
    first.close()
    second, second_peer = socket.socketpair()
    with first_peer, second, second_peer:
        assert second.fileno() == number
        poller.register(number, WRITE)
        assert ready(poller) == {number: WRITE}


def test_several_sockets_are_told_apart(poller: Poller) -> None:
    pairs = [socket.socketpair() for _ in range(5)]
    for ours, _ in pairs:
        poller.register(ours.fileno(), READ)
    for _, theirs in pairs[1:4]:
        theirs.send(b"x")
    assert ready(poller) == {ours.fileno(): READ for ours, _ in pairs[1:4]}
    for pair in pairs:
        for end in pair:
            end.close()
