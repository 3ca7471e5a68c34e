from __future__ import annotations

import pytest

from loadgen import progress
from loadgen.outcome import Outcome
from loadgen.progress import LastSecond
from loadgen.samples import Recorder
from loadgen.summary import NS_PER_MS, NS_PER_S


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "perf_counter_ns", clock)
    return clock


def write(recorder: Recorder, row: int, due_s: float, took_ms: float | None, outcome: Outcome = Outcome.OK) -> None:
    assert recorder.release_ns is not None
    recorder.begun[row] = recorder.release_ns + round(due_s * NS_PER_S)
    if took_ms is not None:
        recorder.done[row] = recorder.begun[row] + round(took_ms * NS_PER_MS)
        recorder.outcome[row] = outcome


def test_a_line_a_second_tells_of_that_second(clock: Clock) -> None:
    recorder = Recorder(100, fold=lambda block: None)
    last_second = LastSecond(recorder)
    assert last_second.line() is None  # not released
    release = recorder.release()
    write(recorder, 0, 0.1, 5)
    write(recorder, 1, 0.2, 7)
    write(recorder, 2, 0.3, 9, Outcome.RESET)
    write(recorder, 3, 0.4, None)
    clock.now = release + NS_PER_S - 1
    assert last_second.line() is None
    clock.now = release + NS_PER_S
    assert last_second.line() == ("    1 s       3/s  in flight     1  p50    7.000 ms  p99    7.000 ms  failed 1")
    assert last_second.line() is None
    # Rows that were handed over in mid-second count as well.
    write(recorder, 4, 1.2, 3)
    recorder.fold([3], 5)
    write(recorder, 1, 1.5, 4)
    clock.now = release + 2 * NS_PER_S
    assert last_second.line() == ("    2 s       2/s  in flight     1  p50    4.000 ms  p99    4.000 ms  failed 1")
    clock.now = release + 4 * NS_PER_S
    assert last_second.line() == "    4 s       0/s  in flight     1  p50      n/a ms  p99      n/a ms  failed 1"


def test_a_line_fits_a_terminal_s_width(clock: Clock) -> None:
    recorder = Recorder(1)
    clock.now = recorder.release() + 599 * NS_PER_S
    write(recorder, 0, 0.0, 59_999.999)
    line = LastSecond(recorder).line()
    assert line is not None
    assert len(line) <= 80
