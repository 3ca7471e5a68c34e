"""Fixtures of the engines' suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from loadgen.plan import ENGINES
from tests.engines.misbehave import MisbehavingServer


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of each engine in turn."""
    name: str = request.param
    return name


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as server:
        yield server


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def cacert(authority: trustme.CA, tmp_path: Path) -> str:
    """The PEM file of the authority."""
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)
