"""A run folder as it is written, where no command is needed to see it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadgen.environment import full_environment
from loadgen.machine import git_state, memory_limit
from loadgen.plan import Plan, Stage, Target, Workload
from loadgen.redaction import Redaction
from loadgen.run_folder import Head, RunFolder, made_name
from loadgen.runner import Session
from loadgen.saving import FolderSink
from rig.runs.saved import load
from tests.support import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def head() -> Head:
    return Head("test", "loadgen", ["loadgen"], full_environment())


def test_rows_of_a_long_run_are_all_there(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.samples.MOST_KEPT", 100)
    monkeypatch.setattr("loadgen.samples._WINDOW", 64)
    monkeypatch.setattr("loadgen.keeper._LEAST_KEPT", 50)
    plan = Plan(Target.parse(server.url("/timed/1")), Workload(None, 4, stages=(Stage(0.4, 4, 4),)), server_timing=True)
    folder = RunFolder(tmp_path, head(), Redaction(), ("server_timing_ns",))
    sink = FolderSink(plan, folder)
    with Session(plan, take_rows=sink.take) as session:
        run = session.run(1)
    assert run.tally is not None
    sink.add(run)
    sink.finish()
    saved = load(folder.path)
    assert saved.result["complete"] is True
    samples = saved.profiles[0].runs[0].samples
    assert len(samples) == run.summary.requests > 100
    assert samples.server_timing["work"].min() == 1_000_000


def test_folders_of_the_same_second(tmp_path: Path) -> None:
    paths = {RunFolder(tmp_path, head(), Redaction()).path for _ in range(3)}
    assert len(paths) == 3
    with RunFolder(tmp_path, head(), Redaction()) as empty:
        assert empty.path.exists()
    assert not empty.path.exists()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["threads", "async", "threads"], "threads-async"),
        (["127.0.0.1", "/sleep?ms=100"], "127-0-0-1-sleep-ms-100"),
        (["/"], "run"),
        (["x" * 90], "x" * 40),
    ],
)
def test_made_names(words: list[str], name: str) -> None:
    assert made_name(words) == name


def test_git_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_state() is None
    assert full_environment()["git"] is None
    (tmp_path / "file").write_text("1")
    for words in (
        ["init", "-q"],
        ["add", "file"],
        ["-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-q", "-m", "x"],
    ):
        subprocess.run(["git", *words], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / "unknown").touch()
    assert git_state() == (commit, True)
    (tmp_path / "file").write_text("2")
    assert git_state() == (commit, False)
    monkeypatch.setenv("PATH", "")
    assert git_state() is None


def test_memory_limit(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/box\n")
    (tmp_path / "box").mkdir()
    assert memory_limit(tmp_path, own) is None
    (tmp_path / "box" / "memory.max").write_text("max\n")
    assert memory_limit(tmp_path, own) is None
    (tmp_path / "box" / "memory.max").write_text("1048576\n")
    assert memory_limit(tmp_path, own) == 1_048_576
    own.write_text("5:memory:/box\n")
    (tmp_path / "memory" / "box").mkdir(parents=True)
    limit = tmp_path / "memory" / "box" / "memory.limit_in_bytes"
    limit.write_text("9223372036854771712\n")
    assert memory_limit(tmp_path, own) is None
    limit.write_text("4096\n")
    assert memory_limit(tmp_path, own) == 4096
