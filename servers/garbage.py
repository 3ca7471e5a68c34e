"""Tells of the garbage collections of this process, while which none of its Python code runs."""

from __future__ import annotations

import gc
from time import perf_counter_ns
from typing import Final, Protocol

_LONG_NS: Final = 1_000_000
"""Shorter ones are counted, but not told one by one: there are thousands of the young generation."""


class Told(Protocol):
    """Takes a collection's begin and end, ns of the monotonic clock."""

    def __call__(self, begin_ns: int, end_ns: int, *, is_long: bool) -> None:
        """It has just ended."""


class Collector:
    """Tells each collection between `begin` and `end`."""

    def __init__(self, tell: Told) -> None:
        self._tell = tell
        self._begun_ns: int | None = None

    def begin(self) -> None:
        """Tells of those that come from now on."""
        if self._note not in gc.callbacks:
            gc.callbacks.append(self._note)

    def end(self) -> None:
        """Tells of no more."""
        if self._note in gc.callbacks:
            gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        now = perf_counter_ns()
        if phase == "start":
            self._begun_ns = now
        elif self._begun_ns is not None:
            self._tell(self._begun_ns, now, is_long=now - self._begun_ns >= _LONG_NS)
