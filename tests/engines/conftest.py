"""Fixtures of the engines' suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
