"""What becomes of the rows of a run that is too long for all of them to be kept.

A thread takes the recorder's blocks: counts them, passes their rows on (to a file, where one was asked for) and keeps
the last of them. numpy lets the engine's thread run meanwhile; a pipe that is full does as well.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from loadgen.samples import MISSING, Block, Samples, joined
from loadgen.summary import NS_PER_S
from loadgen.tally import Tally

_PART: Final = 8192
"""Rows handled at once: few enough that the engine never waits long for the interpreter."""
_LEAST_KEPT: Final = 10_000
"""Rows; where fewer ended in the last second, some before it are kept too."""
_MOST_WAITING: Final = 32
"""Blocks. Beyond it the engine has to wait: a measurement that is late says so, one without memory says nothing."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of the rows of a run."""

    tally: Tally
    last: Samples
    """Those that ended in the last second, or the last _LEAST_KEPT, by the moments at which they were due."""
    release_ns: int | None
    """First to last of the requests released together."""


class Keeper:
    """Takes the blocks of one run; the thread begins with the first."""

    def __init__(self, tally: Tally, released: int, take_rows: Callable[[Samples], None] | None = None) -> None:
        """The first `released` rows were released together; `take_rows` gets all rows, a few thousand at a time."""
        self._tally = tally
        self._released = released
        self._take_rows = take_rows
        self._release_ns: int | None = None
        self._last: deque[Samples] = deque()
        self._blocks: queue.Queue[Block | None] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._trouble: BaseException | None = None

    def take(self, block: Block) -> None:
        """To be given to a `Recorder`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="keeper", daemon=True)
            self._thread.start()
        self._blocks.put(block)

    def close(self) -> Kept:
        """Waits until all is counted; something must have been taken.

        Raises:
            Exception: a defect of ours, met in the thread.
        """
        assert self._thread is not None
        self._blocks.put(None)
        self._thread.join()
        if self._trouble is not None:
            raise self._trouble
        self._tally.settle()
        return Kept(self._tally, self._last_rows(), self._release_ns)

    def _work(self) -> None:
        is_first = True
        while (block := self._blocks.get()) is not None:
            if self._trouble is not None:  # go on taking, lest the engine wait for ever
                continue
            try:
                if is_first:
                    self._note_release(block)
                is_first = False
                self._keep(block)
            except BaseException as error:
                self._trouble = error

    def _note_release(self, block: Block) -> None:
        begun = block.columns["begun"][: self._released]
        begun = begun[begun != MISSING]
        self._release_ns = int(begun.max() - begun.min()) if len(begun) else None

    def _keep(self, block: Block) -> None:
        ended = np.ones(len(block), dtype=np.bool_)
        ended[block.live] = False
        if self._tally.is_open:
            begun = block.columns["begun"]
            done = np.where(ended, block.columns["done"], np.iinfo(np.int64).max)
            self._tally.count_in_flight(begun[begun != MISSING], done[begun != MISSING])
        for first in range(0, len(block), _PART):
            part = block.samples(first, first + _PART).of(ended[first : first + _PART])
            self._tally.add(part)
            if self._take_rows is not None:
                self._take_rows(part)
            if len(part):
                self._last.append(part)
        # What ends later stands in a later block.
        until = self._tally.last_done_ns or 0
        self._tally.settle(until)
        left = sum(len(part) for part in self._last)
        while (left := left - len(self._last[0])) >= _LEAST_KEPT and self._last[0].done.max() < until - NS_PER_S:
            self._last.popleft()

    def _last_rows(self) -> Samples:
        rows = joined(self._last)
        since = (self._tally.last_done_ns or 0) - NS_PER_S
        if len(rows) > _LEAST_KEPT:
            since = min(since, int(np.partition(rows.done, -_LEAST_KEPT)[-_LEAST_KEPT]))
            rows = rows.of(rows.done >= since)
        return rows.of(np.argsort(rows.due, kind="stable"))
