from __future__ import annotations

from pathlib import Path

import pytest

from rig.report import write_report
from tests.report.support import compared
from tests.rig.support import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a real comparison. Nobody writes to it."""
    root = tmp_path_factory.mktemp("report")
    return compared(Place(root), root / "runs" / "20261130T220500Z-three")


@pytest.fixture(scope="session")
def report(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_report([folder], file)
    return file
