"""Runtimes are asked for their version: by whatever stands there, well behaved or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers import runtimes
from servers.runtimes import Found, Runtime
from tests.servers.support import eventually, group_of


def asked(program: Path, script: str) -> Found | None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return Runtime("It", 3, lambda: iter([program]), ("--version",), r"it (\d+)", "get it").seen()


def test_version_is_read_wherever_it_is_written(tmp_path: Path) -> None:
    program = tmp_path / "it"
    assert asked(program, "echo this is it 4 >&2") == Found(program, "4")


@pytest.mark.parametrize("script", ["echo junk", "exit 1", ""])
def test_program_without_a_version_is_none(tmp_path: Path, script: str) -> None:
    assert asked(tmp_path / "it", script) is None


def test_program_that_cannot_run_or_is_not_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "v4").touch()
    places = [tmp_path / "v4", tmp_path / "v5"]
    assert Runtime("It", 3, lambda: iter(places), (), r"v(\d)", "get it").seen() is None


@pytest.mark.parametrize(
    ("script", "found"), [("sleep 600 & echo it 4", "4"), ("sleep 600", None)], ids=["leaves a child", "hangs"]
)
def test_program_holds_nobody_up_and_nothing_of_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, found: str | None
) -> None:
    monkeypatch.setattr(runtimes, "_ASK_TIMEOUT_S", 600 if found else 1.0)
    seen = asked(tmp_path / "it", f"echo $$ > {tmp_path}/pid; {script}")
    assert (seen and seen.version) == found
    group = int((tmp_path / "pid").read_text())
    assert eventually(lambda: not group_of(group))
