"""A run as plain text: a line for each slice of its requests, on one axis of time.

A line shows one request, the middle one of its slice, as the findings read it: `.` until the server had it, `-` while
it waited for a place, `=` while it was worked on. What was not served ends in `x`, what was turned away in `!`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from loadgen.explain import Evidence
from loadgen.explain.reading import Reading
from loadgen.samples import MISSING, Ints

WIDTH: Final = 72
LINES: Final = 20
_MOST_TICKS: Final = 5


def drawing(evidence: Evidence, *, lines: int = LINES, width: int = WIDTH) -> list[str]:
    """The lines of a run's picture, none longer than `width`; none at all where no request was begun.

    Requests stand in the order in which they came to the server; those that never came, last.
    """
    reading = Reading(evidence)
    order = _in_order_of_arrival(reading)
    if not len(order):
        return []
    slices = np.array_split(order, min(lines, len(order)))
    labels = list(_labels(slices))
    indent = max(map(len, labels))
    cells = width - indent - 3
    end_ns = max(int(evidence.samples.done[order].max()), 1)
    rows = [
        f"{label:>{indent}} |{_bar(reading, int(part[len(part) // 2]), end_ns, cells)}|"
        for label, part in zip(labels, slices, strict=True)
    ]
    return [*rows, *(f"{'':{indent}} {line}" for line in _axis(end_ns, cells))]


def _in_order_of_arrival(reading: Reading) -> Ints:
    rows = np.flatnonzero(reading.evidence.begun)
    never = _never_arrived(reading)[rows]
    return rows[np.lexsort((reading.arrival_ns[rows], never))]


def _never_arrived(reading: Reading) -> Ints:
    samples = reading.evidence.samples
    return np.where((samples.connected == MISSING) & (samples.reused == 0), 1, 0)


def _labels(slices: list[Ints]) -> Iterator[str]:
    """`7`, or `12-17` for a slice of several; counted from 1."""
    first = 1
    for part in slices:
        last = first + len(part) - 1
        yield f"{first}" if first == last else f"{first}-{last}"
        first = last + 1


def _bar(reading: Reading, row: int, end_ns: int, cells: int) -> str:
    """One request. A cell has the mark of what holds in its middle, so that short stages leave none."""
    samples = reading.evidence.samples
    begun, done, start = int(samples.begun[row]), int(samples.done[row]), int(reading.start_ns[row])
    arrived = done if _never_arrived(reading)[row] else int(reading.arrival_ns[row])
    worked = done if start == MISSING else start
    marks = [" "] * cells
    for cell in range(cells):
        middle = (cell + 0.5) * end_ns / cells
        if begun <= middle < done:
            marks[cell] = "." if middle < arrived else "-" if middle < worked else "="
    last = min(cells - 1, int(done * cells / end_ns))
    if reading.shed[row]:
        marks[last] = "!"
    elif not reading.served[row]:
        marks[last] = "x"
    elif begun == done or not "".join(marks).strip():
        marks[last] = "="
    return "".join(marks)


def _axis(end_ns: int, cells: int) -> Iterator[str]:
    """A ruler and its figures, in ms."""
    step_ms = _step_ms(end_ns / 1e6)
    ruler, figures = ["-"] * cells, " " * (cells + 2)
    for tick in range(_MOST_TICKS + 1):
        at = int(tick * step_ms * 1e6 * cells / end_ns)
        if at >= cells:
            break
        ruler[at] = "+"
        figure = f"{tick * step_ms:,g}" + (" ms" if not tick else "")
        place = min(at + 1, len(figures) - len(figure))
        figures = figures[:place] + figure + figures[place + len(figure) :]
    yield f"+{''.join(ruler)}+"
    yield figures.rstrip()


def _step_ms(end_ms: float) -> float:
    """1, 2 or 5 times a power of ten: the least that makes no more than _MOST_TICKS steps of it."""
    power = 10.0 ** np.floor(np.log10(end_ms / _MOST_TICKS))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power * _MOST_TICKS >= end_ms))
