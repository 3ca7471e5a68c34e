"""The part of the bench that looks at a saved run, in its quick mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.native import find_compiler

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.skipif(find_compiler() is None, reason="the bench compiles its server first")
def test_report_and_show_are_held_against_their_bounds() -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--only", "kept", "--peers", "none"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    figures = [line for line in done.stdout.splitlines() if "| under " in line]
    assert [line.split("|")[3].strip() for line in figures] == ["under 5.00 s", "under 8.0 MB", "under 0.50 s"]
    assert not any("n/a" in line for line in figures)
