"""Progress on a terminal: a bar for a count of requests, a line a second for a run of a duration.

Rendered in the event loop's own thread, a few times a second: a thread of its own would take the interpreter from the
engine at moments that nobody chose.
"""

from __future__ import annotations

from bisect import bisect_left
from time import perf_counter_ns
from types import TracebackType
from typing import Final

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from loadgen.outcome import Outcome
from loadgen.run import WARMUP
from loadgen.samples import MISSING, Ints, Recorder
from loadgen.summary import NS_PER_MS, NS_PER_S, percentile

_MOST_LOOKED_AT: Final = 100_000
"""Rows whose times are looked at for one line; the engine waits meanwhile."""


class ProgressLine:
    """An `Observer` that shows, on stderr, how far the runs are. A context manager."""

    def __init__(self, runs: int, label: str = "", *, duration_s: float | None = None) -> None:
        """For so many runs in all, warm-up included; each of `duration_s`, or of a count."""
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
        self._duration_s = duration_s
        self._last_second: LastSecond | None = None
        self._recorder: Recorder | None = None
        self._task = self._progress.add_task(label, total=None, in_flight=0, ok=0, failed=0)

    def __enter__(self) -> ProgressLine:
        if self._duration_s is None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, run: int, recorder: Recorder) -> None:
        """A run begins."""
        self._begun += 1
        self._recorder = recorder
        name = "warm-up" if run == WARMUP else f"run {run}"
        description = f"{self.label} {name} ({self._begun} of {self._runs})".strip()
        if self._duration_s is not None:
            self._last_second = LastSecond(recorder)
            self._progress.stop()
            self.print(f"{description}, {self._duration_s:g} s")
            return
        self._progress.start()
        self._progress.update(self._task, description=description, total=recorder.rows or None, completed=0)

    def tick(self) -> None:
        """Counts and shows."""
        if self._recorder is None:
            return
        if self._last_second is not None:
            if (line := self._last_second.line()) is not None:
                self.print(line)
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
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


class LastSecond:
    """What a run did since it was last asked, a second or more ago."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._asked_ns: int | None = None
        self._ended = 0

    def line(self) -> str | None:
        """Time, rate, in flight, p50, p99 and failures; None where no second has gone by."""
        recorder, now = self._recorder, perf_counter_ns()
        if recorder.release_ns is None:
            return None
        since = recorder.release_ns if self._asked_ns is None else self._asked_ns
        if now - since < NS_PER_S:
            return None
        self._asked_ns = now
        used = bisect_left(range(recorder.rows), True, key=lambda row: recorder.due[row] == MISSING)
        outcome = np.frombuffer(recorder.outcome, dtype=np.int8)[:used]
        in_flight = int(np.count_nonzero(outcome == Outcome.CANCELLED))
        ok = recorder.folded_ok + int(np.count_nonzero(outcome == Outcome.OK))
        ended = recorder.folded + used - in_flight
        rate = (ended - self._ended) / (now - since) * NS_PER_S
        self._ended = ended
        response = self._response_ns(used, since)
        p50, p99 = (f"{percentile(response, q) / NS_PER_MS:.3f}" if len(response) else "n/a" for q in (0.50, 0.99))
        return (
            f"{(now - recorder.release_ns) / NS_PER_S:5.0f} s {rate:>7,.0f}/s  in flight {in_flight:>5,}"
            f"  p50 {p50:>8} ms  p99 {p99:>8} ms  failed {ended - ok:,}"
        )

    def _response_ns(self, used: int, since_ns: int) -> Ints:
        """Response times of the ok requests that ended since then, sorted; of the newest, where they are very many."""
        recorder = self._recorder
        columns = {name: np.frombuffer(getattr(recorder, name), dtype=np.int64) for name in ("due", "done")}
        columns["outcome"] = np.frombuffer(recorder.outcome, dtype=np.int8)
        parts = [{name: column[max(0, used - _MOST_LOOKED_AT) : used] for name, column in columns.items()}]
        if recorder.last_block is not None:
            before = {"due": recorder.last_block.columns["begun"]} | dict(recorder.last_block.columns)
            parts.append({name: before[name][-_MOST_LOOKED_AT:] for name in columns})
        found = []
        for part in parts:
            rows = (part["outcome"] == Outcome.OK) & (part["done"] >= since_ns)
            found.append((part["done"] - part["due"])[rows])
        return np.sort(np.concatenate(found))
