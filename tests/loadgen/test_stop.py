"""A pause must be left when a signal comes, also where it comes just as the thread begins to sleep."""

from __future__ import annotations

import time

import pytest

from loadgen import stop


def test_a_pause_is_made_of_short_sleeps_and_lasts_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = 100.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)
    stop.rest(0.35)
    assert max(slept) <= 0.1
    assert sum(slept) == pytest.approx(0.35)
    slept.clear()
    stop.rest(0)
    assert not slept
