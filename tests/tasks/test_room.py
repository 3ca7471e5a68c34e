"""Threads that do not fit are refused before any is started, with the limit's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadgen.errors import CapacityError
from rig.tasks import room


def test_tightest_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [room.Limit("kernel.pid_max, 32,768", 30_000), room.Limit("the control group's pids.max, 100", 70)]
    monkeypatch.setattr(room, "limits", lambda: iter(limits))
    room.check_room("thread-each", 70)
    with pytest.raises(CapacityError, match=r"thread-each needs 71 threads at once, and 70 fit here.*pids.max, 100;"):
        room.check_room("thread-each", 71)


def test_there_is_room_for_a_few_here_and_not_for_a_billion() -> None:
    room.check_room("pool:10", 10)
    with pytest.raises(CapacityError, match="the limit is"):
        room.check_room("pool", 10**9)


@pytest.mark.parametrize("controllers", ["", "pids"])
def test_control_groups_above_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, controllers: str) -> None:
    """Version 2 names no controllers and has one tree; version 1 has a tree for each."""
    monkeypatch.setattr(room, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(room, "_CGROUP", tmp_path / "cgroup")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"0:{controllers}:/outer/inner\n")
    outer = tmp_path / "cgroup" / controllers / "outer"
    (outer / "inner").mkdir(parents=True)
    (outer / "inner/pids.max").write_text("max\n")
    (outer / "inner/pids.current").write_text("3\n")
    (outer / "pids.max").write_text("50\n")
    (outer / "pids.current").write_text("10\n")
    assert [limit.room for limit in room._of_cgroup()] == [40]
