"""Samples: one row a request, in columns. The only thing that anything downstream of an engine reads.

Times are integer nanoseconds from the run's release. A stage never reached is MISSING, never 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
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
    server_timing: Mapping[str, Ints] = field(default_factory=dict)
    """ns; durations that the server gave, a column a metric. MISSING where it gave none, or no complete response."""

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


COLUMNS: Final = tuple(column.name for column in fields(Samples) if column.name != "server_timing")
"""The columns that all samples have."""


class Recorder:
    """The columns while they are being written: by plain index, in raw clock readings.

    An engine stores `perf_counter_ns()` into the time columns of row i and an outcome last. `samples()` turns the
    readings into times from the release. 46 bytes a request. Plain arrays, because storing an int into one costs a
    third of what it costs with numpy.
    """

    __slots__ = (*COLUMNS, "release_ns", "server_timing")

    def __init__(self, requests: int) -> None:
        missing64 = array("q", [MISSING])
        self.begun = missing64 * requests
        self.due = self.begun
        """The same memory: in a burst and a closed workload a request is due when it begins."""
        self.connected = missing64 * requests
        self.first_byte = missing64 * requests
        self.done = missing64 * requests
        self.bytes_in = array("q", [0]) * requests
        self.status = array("h", [MISSING]) * requests
        self.outcome = array("b", [Outcome.CANCELLED]) * requests
        self.reused = array("b", [0]) * requests
        self.resent = array("h", [MISSING]) * requests
        self.server_timing: dict[str, array[int]] = {}
        self.release_ns: int | None = None
        """The clock's reading at the release; times count from it."""

    def release(self) -> int:
        """Marks this moment as the run's release and returns it (perf_counter_ns)."""
        self.release_ns = perf_counter_ns()
        return self.release_ns

    def note_server_timing(self, index: int, header_values: Iterable[str]) -> None:
        """Writes the durations of a complete response; a column is made when its metric is first seen."""
        for name, duration_ns in durations_ns(header_values).items():
            if name not in self.server_timing:
                if len(self.server_timing) == MOST_NAMES:
                    continue
                self.server_timing[name] = array("q", [MISSING]) * len(self.done)
            self.server_timing[name][index] = duration_ns

    def samples(self) -> Samples:
        """The rows as they now stand, in the same memory: call it once, when nothing is written any more.

        A request begun and not ended is cancelled, now; one never begun has no times.
        """
        now = perf_counter_ns()
        release = now if self.release_ns is None else self.release_ns
        columns = {name: _view(getattr(self, name)) for name in COLUMNS}
        columns["due"] = columns["begun"]
        done = columns["done"]
        done[(done == MISSING) & (columns["begun"] != MISSING)] = now
        for column in (columns[name] for name in TIME_COLUMNS if name != "due"):
            np.subtract(column, release, out=column, where=column != MISSING)
        timing = {name: _view(column) for name, column in self.server_timing.items()}
        for column in (*columns.values(), *timing.values()):
            column.flags.writeable = False
        return Samples(**columns, server_timing=timing)


def _view(column: array[int]) -> NDArray[Any]:
    """A plain array as a numpy one over the same memory."""
    return np.frombuffer(column, dtype=column.typecode)
