"""The progress line on a terminal: runs done, in flight, ok, failed.

Rendered in the event loop's own thread, a few times a second: a thread of its own would take the interpreter from the
engine at moments that nobody chose.
"""

from __future__ import annotations

from types import TracebackType

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from loadgen.outcome import Outcome
from loadgen.runner import WARMUP
from loadgen.samples import MISSING, Recorder


class ProgressLine:
    """An `Observer` that shows, on stderr, how far the runs are. A context manager."""

    def __init__(self, runs: int, label: str = "") -> None:
        """For so many runs in all, warm-up included."""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("in flight {task.fields[in_flight]:>6}  ok {task.fields[ok]:>6}  failed {task.fields[failed]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._runs = runs
        self._begun = 0
        self.label = label
        self._recorder: Recorder | None = None
        self._task = self._progress.add_task(label, total=None, in_flight=0, ok=0, failed=0)

    def __enter__(self) -> ProgressLine:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, run: int, recorder: Recorder) -> None:
        """A run begins."""
        self._progress.start()
        self._begun += 1
        self._recorder = recorder
        name = "warm-up" if run == WARMUP else f"run {run}"
        description = f"{self.label} {name} ({self._begun} of {self._runs})".strip()
        self._progress.update(self._task, description=description, total=recorder.rows or None, completed=0)

    def tick(self) -> None:
        """Counts and shows."""
        if self._recorder is None:
            return
        outcomes = self._recorder.outcome.tobytes()
        ended = len(outcomes) - outcomes.count(Outcome.CANCELLED)
        ok = outcomes.count(Outcome.OK)
        begun = int(np.count_nonzero(np.frombuffer(self._recorder.begun, dtype=np.int64) != MISSING))
        self._progress.update(self._task, completed=ended, in_flight=begun - ended, ok=ok, failed=ended - ok)
        self._progress.refresh()

    def hide(self) -> None:
        """Clears the line until the next run begins: what is printed meanwhile stands on lines of its own."""
        self._progress.stop()

    def print(self, text: str) -> None:
        """Prints above the line."""
        self._progress.console.print(text, markup=False, highlight=False)
