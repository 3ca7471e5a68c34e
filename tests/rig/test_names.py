"""What was measured twice has two names wherever rows, evidence and charts are told apart by name."""

from __future__ import annotations

from rig.names import distinct


def test_a_name_that_comes_again_is_numbered() -> None:
    assert distinct(["async", "threads", "async", "async"]) == ["async", "threads", "async (2)", "async (3)"]
