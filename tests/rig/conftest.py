from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.support import Place


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_not_ignored() -> Iterator[None]:
    """Started in the background by a shell, this process ignores SIGINT, and each one that it starts would too."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def broken_place(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Where waitress, and with it the profile `threads`, cannot be used: the installation is broken."""
    packages = tmp_path_factory.mktemp("packages")
    (packages / "waitress.py").write_text("raise ImportError('waitress was built for another Python')\n")
    return Place(tmp_path, PYTHONPATH=str(packages))
