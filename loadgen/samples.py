"""Samples: one row a request, in columns. The only thing that anything downstream of an engine reads.

Times are integer nanoseconds from the run's release. A stage never reached is MISSING, never 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from time import perf_counter_ns
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loadgen.outcome import Outcome

MISSING: Final = -1

Ints = NDArray[np.int64]

TIME_COLUMNS: Final = ("due", "begun", "connected", "first_byte", "done")

MOST_KEPT: Final = 500_000
"""Rows kept one by one of a run whose number of requests nobody knows beforehand."""

_MORE_ROWS: Final = 65_536
_EMPTY: Final = {
    **dict.fromkeys(TIME_COLUMNS, ("q", MISSING)),
    "bytes_in": ("q", 0),
    "status": ("h", MISSING),
    "outcome": ("b", int(Outcome.CANCELLED)),
    "reused": ("b", 0),
    "resent": ("h", MISSING),
}
"""For each column its type code and what stands in a row before anything is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The rows of one run; all columns have shape (requests,). Row order is the order of the schedule."""

    due: Ints
    """ns; when it should begin. Burst and closed: when it did begin. MISSING where it was never begun."""
    begun: Ints
    """ns"""
    connected: Ints
    """ns; TCP established. MISSING where an open connection was used."""
    first_byte: Ints
    """ns; first byte of the response read."""
    done: Ints
    """ns; the outcome was known. MISSING only where it was never begun."""
    bytes_in: Ints
    """Bytes of the response as read, head included; 0 where none came."""
    status: NDArray[np.int16]
    """MISSING where no complete head came."""
    outcome: NDArray[np.int8]
    """`Outcome` numbers."""
    reused: NDArray[np.int8]
    """1: the connection stood before the request began."""
    resent: NDArray[np.int16]
    """Segments retransmitted on the connection for this request, SYN included (TCP_INFO). MISSING: not to be seen."""

    def __len__(self) -> int:
        return len(self.due)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which rows are ok; shape (requests,)."""
        return np.equal(self.outcome, Outcome.OK)

    @property
    def response_ns(self) -> Ints:
        """done - due where both are known, else MISSING; shape (requests,)."""
        known = (self.due != MISSING) & (self.done != MISSING)
        return np.where(known, self.done - self.due, MISSING)


class Recorder:
    """The columns while they are being written: by plain index, in raw clock readings.

    An engine stores `perf_counter_ns()` into the time columns of row i and an outcome last. `samples()` turns the
    readings into times from the release. 46 bytes a request, 54 where due times are their own. Plain arrays, because
    storing an int into one costs a third of what it costs with numpy.

    Where nobody knows how many requests there will be, the engine asks for `more` rows as it goes on. Beyond MOST_KEPT
    the rows that have ended are handed to `fold`, and their place is used again.
    """

    __slots__ = (*(field.name for field in fields(Samples)), "_fold", "folded", "release_ns", "rows", "used")

    def __init__(
        self, requests: int, *, has_due_times: bool = False, fold: Callable[[Samples], None] | None = None
    ) -> None:
        """Rows for so many requests; `fold` takes rows when there are too many to be kept: without it all are."""
        self.rows = 0
        for field in fields(Samples):
            setattr(self, field.name, array(_EMPTY[field.name][0]))
        if not has_due_times:
            self.due = self.begun
            """The same memory: in a burst and a closed workload a request is due when it begins."""
        self._fold = fold
        self.folded = 0
        """Rows that have been handed to `fold`."""
        self.used: int | None = None
        """How many rows carry a request, set by the engine at the end; None: all."""
        self.release_ns: int | None = None
        """The clock's reading at the release; times count from it."""
        self._extend(requests)

    # The columns that `setattr` makes above, for the type checker and the reader.
    due: array[int]
    begun: array[int]
    connected: array[int]
    first_byte: array[int]
    done: array[int]
    bytes_in: array[int]
    status: array[int]
    outcome: array[int]
    reused: array[int]
    resent: array[int]

    def _columns(self) -> Iterator[tuple[str, array[int]]]:
        """Each column once."""
        for field in fields(Samples):
            if field.name != "due" or self.due is not self.begun:
                yield field.name, getattr(self, field.name)

    def _extend(self, rows: int) -> None:
        for name, column in self._columns():
            code, empty = _EMPTY[name]
            column.extend(array(code, [empty]) * rows)
        self.rows += rows

    def more(self, live: Sequence[int]) -> int | None:
        """Makes room for further rows; `live` are those whose requests have not ended.

        Returns None where rows were added behind the others. Else everything that had ended was folded, and the live
        rows now stand first, in the order given: then it returns their number.
        """
        if self._fold is None or self.rows < MOST_KEPT:
            self._extend(_MORE_ROWS)
            return None
        if len(live) > self.rows // 2:
            self._extend(_MORE_ROWS)
        self.fold(live)
        return len(live)

    def fold(self, live: Sequence[int], used: int | None = None) -> None:
        """Hands the rows that have ended to `fold`, moves the live ones to the front and empties the rest."""
        assert self._fold is not None
        kept = np.array(live, dtype=np.int64)
        ended = np.ones(self.rows if used is None else used, dtype=np.bool_)
        ended[kept] = False
        self._fold(self._samples({name: _view(column)[: len(ended)][ended] for name, column in self._columns()}))
        self.folded += int(np.count_nonzero(ended))
        for name, column in self._columns():
            view = _view(column)
            moved = view[kept]
            view[: len(kept)] = moved
            view[len(kept) :] = _EMPTY[name][1]

    def release(self, at_ns: int | None = None) -> int:
        """Marks this moment, or the one given, as the run's release and returns it (perf_counter_ns)."""
        self.release_ns = perf_counter_ns() if at_ns is None else at_ns
        return self.release_ns

    def take(self, rows: Samples) -> None:
        """Takes rows that others measured, whose times count from the release marked here, in place of its own."""
        assert self.release_ns is not None
        self._extend(max(len(rows) - self.rows, 0))
        for name, column in self._columns():
            given = getattr(rows, name)
            if name in TIME_COLUMNS:
                given = np.where(given == MISSING, MISSING, given + self.release_ns)
            _view(column)[: len(rows)] = given
        self.used = len(rows)

    def samples(self) -> Samples:
        """The rows as they now stand, in the same memory: call it once, when nothing is written any more.

        A request begun and not ended is cancelled, now; one never begun has no times.
        """
        return self._samples({name: _view(column)[: self.used] for name, column in self._columns()})

    def _samples(self, columns: dict[str, NDArray[Any]]) -> Samples:
        now = perf_counter_ns()
        release = now if self.release_ns is None else self.release_ns
        done = columns["done"]
        done[(done == MISSING) & (columns["begun"] != MISSING)] = now
        for column in (columns[name] for name in TIME_COLUMNS if name in columns):
            np.subtract(column, release, out=column, where=column != MISSING)
        for column in columns.values():
            column.flags.writeable = False
        return Samples(**{"due": columns["begun"], **columns})


def _view(column: array[int]) -> NDArray[Any]:
    """A plain array as a numpy one over the same memory."""
    return np.frombuffer(column, dtype=column.typecode)
