from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from loadgen import address as address_module
from loadgen.address import Address, choose, lookup, resolve
from loadgen.plan import Target
from tests.support import unused_port

IPv4, IPv6 = socket.AF_INET, socket.AF_INET6


def at(ip: str, port: int = 80) -> Address:
    return Address(IPv6, (ip, port, 0, 0)) if ":" in ip else Address(IPv4, (ip, port))


@pytest.fixture
def listeners() -> Iterator[list[Address]]:
    """Two addresses that take connections."""
    with ExitStack() as stack:
        made = [stack.enter_context(socket.create_server((ip, 0))) for ip in ("127.0.0.1", "127.0.0.2")]
        yield [at(*listener.getsockname()) for listener in made]


def test_the_first_address_that_takes_a_connection_is_chosen(listeners: list[Address]) -> None:
    dead = at("127.0.0.1", unused_port())
    assert choose(listeners) == listeners[0]
    assert choose([dead, *listeners]) == listeners[0]
    assert choose([dead, listeners[1], listeners[0]]) == listeners[1]


def test_where_no_address_takes_a_connection_the_first_is_chosen() -> None:
    dead = [at(ip, unused_port()) for ip in ("127.0.0.1", "127.0.0.2")]
    assert choose(dead) == dead[0]


def test_a_single_address_is_chosen_without_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_module, "_accepts", lambda _address: pytest.fail("connected"))
    assert resolve(Target.parse("http://127.0.0.1:8080/")) == at("127.0.0.1", 8080)


def test_a_name_is_looked_up_to_all_its_addresses_each_once() -> None:
    found = lookup(Target.parse("http://localhost:8080/"))
    assert len(set(found)) == len(found) >= 1
    assert {address.sockaddr[1] for address in found} == {8080}
    assert {address.ip for address in found} <= {"127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("ip", "text"), [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80"), ("fe80::1%1", "[fe80::1%1]:80")]
)
def test_an_address_is_written_as_in_a_url(ip: str, text: str) -> None:
    assert str(at(ip)) == text


@pytest.mark.parametrize(
    ("ip", "public"),
    [
        ("127.0.0.1", False), ("127.9.9.9", False), ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.1.1", False),
        ("169.254.1.1", False), ("0.0.0.0", False), ("::1", False), ("::", False), ("fe80::1", False),
        ("fe80::1%eth0", False), ("fd00::1", False), ("::ffff:127.0.0.1", False), ("::ffff:10.0.0.1", False),
        ("8.8.8.8", True), ("172.32.0.1", True), ("2001:4860:4860::8888", True), ("::ffff:8.8.8.8", True),
    ],
)  # fmt: skip
def test_an_address_is_public_outside_the_loopback_private_and_link_local_ranges(ip: str, public: bool) -> None:
    assert at(ip).is_public == public
