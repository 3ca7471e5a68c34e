"""TLS: whom an engine believes, the name it asks for, and how a handshake that fails is told."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from loadgen.address import Address
from loadgen.errors import UsageError
from loadgen.samples import MISSING
from tests.engines.harness import fire, outcomes
from tests.engines.misbehave import MisbehavingServer

NAME = "shop.invalid"


@pytest.fixture
def names() -> list[str | None]:
    """The names that clients asked for (SNI)."""
    return []


@pytest.fixture
def secure(authority: trustme.CA, names: list[str | None]) -> Iterator[MisbehavingServer]:
    """Has a certificate for NAME and 127.0.0.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(NAME, "127.0.0.1").configure_cert(context)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with MisbehavingServer(tls=context) as server:
        yield server


def test_a_trusted_certificate(engine: str, secure: MisbehavingServer, cacert: str) -> None:
    samples = fire(engine, secure.url("/ok"), 5, cacert=cacert)

    assert outcomes(samples) == {"ok": 5}
    assert (samples.connected != MISSING).all()


def test_connections_are_used_again(engine: str, secure: MisbehavingServer, cacert: str) -> None:
    samples = fire(engine, secure.url("/ok"), 12, 3, cacert=cacert)

    assert outcomes(samples) == {"ok": 12}
    assert samples.reused.sum() == 9
    assert secure.accepted == 3


def test_host_and_server_name_stay_the_targets(
    engine: str, secure: MisbehavingServer, cacert: str, names: list[str | None]
) -> None:
    address = Address(socket.AF_INET, ("127.0.0.1", secure.port))

    samples = fire(engine, f"https://{NAME}:{secure.port}/ok", 2, cacert=cacert, address=address)

    assert outcomes(samples) == {"ok": 2}
    assert names == [NAME, NAME]
    assert secure.received[0].headers("Host") == [f"{NAME}:{secure.port}"]


def test_an_unknown_authority_is_tls(engine: str, secure: MisbehavingServer) -> None:
    samples = fire(engine, secure.url("/ok"), 3)

    assert outcomes(samples) == {"tls": 3}
    assert (samples.status == MISSING).all()
    assert (samples.first_byte == MISSING).all()
    assert secure.received == []


def test_a_certificate_for_another_host_is_tls(engine: str, secure: MisbehavingServer, cacert: str) -> None:
    address = Address(socket.AF_INET, ("127.0.0.1", secure.port))

    samples = fire(engine, f"https://other.invalid:{secure.port}/ok", 3, cacert=cacert, address=address)

    assert outcomes(samples) == {"tls": 3}


def test_insecure_believes_anyone(engine: str, secure: MisbehavingServer) -> None:
    address = Address(socket.AF_INET, ("127.0.0.1", secure.port))

    samples = fire(engine, f"https://other.invalid:{secure.port}/ok", 3, verify=False, address=address)

    assert outcomes(samples) == {"ok": 3}


def test_plain_http_on_the_tls_port_is_tls(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, f"https://127.0.0.1:{server.port}/ok", 3)

    assert outcomes(samples) == {"tls": 3}


def test_a_handshake_that_stands_still_is_bounded(engine: str) -> None:
    """Connected or not? aiohttp does not tell TCP and TLS apart."""
    with socket.create_server(("127.0.0.1", 0)) as never_accepts:
        samples = fire(engine, f"https://127.0.0.1:{never_accepts.getsockname()[1]}/", 3, timeout_s=0.5)

    assert outcomes(samples) == {"connect-timeout" if engine == "aiohttp" else "timeout": 3}


def test_a_plain_request_to_the_tls_port_is_no_success(engine: str, secure: MisbehavingServer) -> None:
    samples = fire(engine, f"http://127.0.0.1:{secure.port}/ok", 3)

    assert set(outcomes(samples)) <= {"closed", "reset", "protocol"}


@pytest.mark.parametrize(("path", "label"), [("/close", "closed"), ("/short-body", "protocol"), ("/never", "timeout")])
def test_outcomes_behind_tls(engine: str, secure: MisbehavingServer, cacert: str, path: str, label: str) -> None:
    samples = fire(engine, secure.url(path), 3, cacert=cacert, timeout_s=1.0 if path == "/never" else 10.0)

    assert outcomes(samples) == {label: 3}


def test_cancellation_behind_tls(engine: str, secure: MisbehavingServer, cacert: str) -> None:
    samples = fire(
        engine, secure.url("/never"), 6, 3, cacert=cacert, cancel_after=lambda: secure.wait_until_received(3)
    )  # fmt: skip

    assert outcomes(samples) == {"cancelled": 6}
    secure.wait_until_all_closed()


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_file_of_authorities_that_is_none_is_misuse(
    engine: str, secure: MisbehavingServer, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)

    with pytest.raises(UsageError, match=r"ca\.pem"):
        fire(engine, secure.url("/ok"), 1, cacert=str(path))
