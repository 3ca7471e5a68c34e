"""Who looks on while runs last: a progress display, metrics that are scraped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from loadgen.samples import Recorder


class Observer(Protocol):
    """Looks on while a session works."""

    def begin(self, run: int, recorder: Recorder) -> None:
        """A run begins, and will fill this recorder."""

    def tick(self) -> None:
        """Called a few times a second while a run lasts, between the engine's turns; must be quick."""


class Observers:
    """Several observers as one."""

    def __init__(self, each: Sequence[Observer]) -> None:
        self._each = tuple(each)

    def begin(self, run: int, recorder: Recorder) -> None:
        """A run begins."""
        for observer in self._each:
            observer.begin(run, recorder)

    def tick(self) -> None:
        """Has each look."""
        for observer in self._each:
            observer.tick()
