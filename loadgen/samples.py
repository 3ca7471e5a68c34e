"""Samples: one row a request, in columns. The only thing that anything downstream of an engine reads.

Times are integer nanoseconds from the run's release. A stage never reached is MISSING, never 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from time import perf_counter_ns
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loadgen.outcome import Outcome
from loadgen.server_timing import MOST_NAMES, durations_ns

MISSING: Final = -1

Ints = NDArray[np.int64]

TIME_COLUMNS: Final = ("due", "begun", "connected", "first_byte", "done")

MOST_KEPT: Final = 500_000
"""Rows kept one by one of a run whose number of requests nobody knows beforehand."""

_MORE_ROWS: Final = 65_536
_WINDOW: Final = 16_384
"""Rows that are written before they are put away, once there are too many to be kept."""
_TYPES: Final = {"status": "h", "outcome": "b", "reused": "b", "resent": "h", "target": "h"}
"""The columns that are narrower than 64 bits."""
_EMPTY: Final = {"bytes_in": 0, "outcome": int(Outcome.CANCELLED), "reused": 0, "target": 0}
"""What stands in a row before anything is known, where that is not MISSING."""
_EMPTY_OF_TARGETS: Final = {name: empty for name, empty in _EMPTY.items() if name != "target"}
"""The same where there are several targets."""


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
    target: NDArray[np.int16]
    """The number of the target, from 1. Where there is only one, 0. Where there are several, MISSING in rows that were
    never begun."""
    server_timing: Mapping[str, Ints] = field(default_factory=dict)
    """ns; durations that the server gave, a column a metric. MISSING where it gave none, or no complete response."""

    def __len__(self) -> int:
        return len(self.due)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which rows are ok; shape (requests,)."""
        return np.equal(self.outcome, Outcome.OK)

    @property
    def has_targets(self) -> bool:
        """Whether the requests were to several targets."""
        return bool(self.target.any())

    @property
    def response_ns(self) -> Ints:
        """done - due where both are known, else MISSING; shape (requests,)."""
        known = (self.due != MISSING) & (self.done != MISSING)
        return np.where(known, self.done - self.due, MISSING)

    def of(self, rows: NDArray[Any]) -> Samples:
        """Some of the rows, by a mask or by their numbers."""
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return Samples(**columns, server_timing={name: column[rows] for name, column in self.server_timing.items()})


COLUMNS: Final = tuple(column.name for column in fields(Samples) if column.name != "server_timing")
"""The columns that all samples have."""


def joined(parts: Sequence[Samples]) -> Samples:
    """The rows of several, one after another."""
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    metrics = dict.fromkeys(name for part in parts for name in part.server_timing)
    timing = {name: np.concatenate([_metric(part, name) for part in parts]) for name in metrics}
    return Samples(**columns, server_timing=timing)


def _metric(samples: Samples, name: str) -> Ints:
    """The column of a metric, of which there may be nothing."""
    column = samples.server_timing.get(name)
    return np.full(len(samples), MISSING, dtype=np.int64) if column is None else column


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows that a recorder put away in mid-run: its columns as they were, in readings of the clock."""

    columns: Mapping[str, NDArray[Any]]
    server_timing: Mapping[str, NDArray[Any]]
    release_ns: int
    live: Ints
    """The numbers of the rows whose requests had not ended; they went on elsewhere."""

    def __len__(self) -> int:
        return len(self.columns["begun"])

    def samples(self, first: int = 0, last: int | None = None) -> Samples:
        """Some of the rows, all by default, the live ones among them; times from the release."""
        columns = {name: column[first:last].copy() for name, column in self.columns.items()}
        timing = {name: column[first:last].copy() for name, column in self.server_timing.items()}
        return _from_readings(columns, timing, self.release_ns)


class Recorder:
    """The columns while they are being written: by plain index, in raw clock readings.

    An engine stores `perf_counter_ns()` into the time columns of row i and an outcome last. `samples()` turns the
    readings into times from the release. 48 bytes a request, 56 where due times are their own. Plain arrays, because
    storing an int into one costs a third of what it costs with numpy.

    Where nobody knows how many requests there will be, the engine asks for `more` rows as it goes on. Beyond MOST_KEPT
    the columns are handed to `fold` as they are, and new ones take their place: nothing is copied but the rows of
    requests that have not ended, so that no request has to wait for it.
    """

    __slots__ = (
        *COLUMNS, "_empty", "_fold", "folded", "folded_ok", "last_block", "release_ns", "rows", "server_timing", "used",
    )  # fmt: skip

    def __init__(
        self,
        requests: int,
        *,
        has_due_times: bool = False,
        has_targets: bool = False,
        fold: Callable[[Block], None] | None = None,
    ) -> None:
        """Rows for so many requests; `fold` takes rows when there are too many to be kept: without it all are."""
        self.rows = 0
        self._empty = _EMPTY_OF_TARGETS if has_targets else _EMPTY
        for name in COLUMNS:
            setattr(self, name, array(_TYPES.get(name, "q")))
        self.server_timing: dict[str, array[int]] = {}
        if not has_due_times:
            self.due = self.begun
            """The same memory: in a burst and a closed workload a request is due when it begins."""
        self._fold = fold
        self.folded = self.folded_ok = 0
        """Requests whose rows have been handed to `fold`, and the ok ones of them."""
        self.last_block: Block | None = None
        """What was handed over last: the requests that ended just before those in the columns."""
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
    target: array[int]

    def _columns(self) -> Iterator[tuple[str, array[int]]]:
        """Each column that all samples have, once."""
        for name in COLUMNS:
            if name != "due" or self.due is not self.begun:
                yield name, getattr(self, name)

    def _extend(self, rows: int) -> None:
        for name, column in (*self._columns(), *self.server_timing.items()):
            column.extend(array(column.typecode, [self._empty.get(name, MISSING)]) * rows)
        self.rows += rows

    def more(self, live: Sequence[int]) -> int | None:
        """Makes room for further rows; `live` are those whose requests have not ended.

        Returns None where rows were added behind the others. Else everything that had ended was folded, and the live
        rows now stand first, in the order given: then it returns their number.
        """
        if self._fold is None:
            self._extend(_MORE_ROWS)
            return None
        if not self.folded and self.rows < MOST_KEPT:
            self._extend(min(_MORE_ROWS, MOST_KEPT - self.rows))
            return None
        self.fold(live)
        return len(live)

    def fold(self, live: Sequence[int], used: int | None = None) -> None:
        """Hands over the columns, up to row `used`, and goes on in new ones, with the live rows at their front."""
        assert self._fold is not None
        assert self.release_ns is not None
        kept = np.array(live, dtype=np.int64)
        columns = {name: _view(column)[:used] for name, column in self._columns()}
        timing = {name: _view(column)[:used] for name, column in self.server_timing.items()}
        self.rows = max(_WINDOW, 2 * len(kept))
        shared = self.due is self.begun
        for name, column in columns.items():
            setattr(self, name, self._fresh(name, column, kept))
        self.server_timing = {name: self._fresh(name, column, kept) for name, column in timing.items()}
        if shared:
            self.due = self.begun
        block = self.last_block = Block(columns, timing, self.release_ns, kept)
        self.folded += len(block) - len(kept)
        self.folded_ok += int(np.count_nonzero(columns["outcome"] == Outcome.OK))
        self._fold(block)

    def _fresh(self, name: str, column: NDArray[Any], kept: Ints) -> array[int]:
        """A column that is empty but for the rows that are kept of another."""
        fresh = array(_TYPES.get(name, "q"), [self._empty.get(name, MISSING)]) * self.rows
        _view(fresh)[: len(kept)] = column[kept]
        return fresh

    def release(self, at_ns: int | None = None) -> int:
        """Marks this moment, or the one given, as the run's release and returns it (perf_counter_ns)."""
        self.release_ns = perf_counter_ns() if at_ns is None else at_ns
        return self.release_ns

    def note_server_timing(self, index: int, header_values: Iterable[str]) -> None:
        """Writes the durations of a complete response; a column is made when its metric is first seen."""
        for name, duration_ns in durations_ns(header_values).items():
            if name not in self.server_timing:
                if len(self.server_timing) == MOST_NAMES:
                    continue
                self.server_timing[name] = array("q", [MISSING]) * len(self.done)
            self.server_timing[name][index] = duration_ns

    def take(self, rows: Samples) -> None:
        """Takes rows that others measured, whose times count from the release marked here, in place of its own."""
        assert self.release_ns is not None
        self._extend(max(len(rows) - self.rows, 0))
        for name, column in self._columns():
            given = getattr(rows, name)
            if name in TIME_COLUMNS:
                given = np.where(given == MISSING, MISSING, given + self.release_ns)
            _view(column)[: len(rows)] = given
        for name, taken in rows.server_timing.items():
            self.server_timing[name] = array("q", [MISSING]) * self.rows
            _view(self.server_timing[name])[: len(rows)] = taken
        self.used = len(rows)

    def samples(self) -> Samples:
        """The rows as they now stand, in the same memory: call it once, when nothing is written any more.

        A request begun and not ended is cancelled, now; one never begun has no times.
        """
        columns = {name: _view(column)[: self.used] for name, column in self._columns()}
        now = perf_counter_ns()
        done = columns["done"]
        done[(done == MISSING) & (columns["begun"] != MISSING)] = now
        timing = {name: _view(column)[: self.used] for name, column in self.server_timing.items()}
        return _from_readings(columns, timing, now if self.release_ns is None else self.release_ns)

    def fold_rest(self) -> None:
        """Hands over all that is left, as `samples` would give it."""
        now = perf_counter_ns()
        begun, done = _view(self.begun), _view(self.done)
        done[(done == MISSING) & (begun != MISSING)] = now
        self.fold((), self.used)


def _from_readings(columns: dict[str, NDArray[Any]], timing: dict[str, NDArray[Any]], release_ns: int) -> Samples:
    """Columns that hold readings of the clock, made Samples in the same memory."""
    for column in (columns[name] for name in TIME_COLUMNS if name in columns):
        np.subtract(column, release_ns, out=column, where=column != MISSING)
    for column in (*columns.values(), *timing.values()):
        column.flags.writeable = False
    return Samples(**{"due": columns["begun"], **columns}, server_timing=timing)


def _view(column: array[int]) -> NDArray[Any]:
    """A plain array as a numpy one over the same memory."""
    return np.frombuffer(column, dtype=column.typecode)
