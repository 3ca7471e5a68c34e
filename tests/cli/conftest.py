"""Fixtures of the tests that run the real console script."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from tests.support import run_script

Loadgen = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def loadgen() -> Loadgen:
    """Runs the console script to its end; nothing it says may be a traceback."""

    def run(*arguments: str | bytes, **options: object) -> subprocess.CompletedProcess[str]:
        ended = run_script("loadgen", *arguments, **options)  # type: ignore[arg-type]
        assert "Traceback" not in (ended.stderr or "")
        return ended

    return run
