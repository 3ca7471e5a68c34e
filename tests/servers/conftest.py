from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers.process import RunningServer, start
from tests.servers.support import SPECS, runnable


@pytest.fixture(scope="session", params=SPECS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of each kind, shared by the tests that do not harm it."""
    with start(runnable(request.param), directory=tmp_path_factory.mktemp("server")) as running:
        yield running
