"""Times counted in buckets, as HdrHistogram does: so many digits, whatever the magnitude, in memory that does not grow.

The buckets are those of HdrHistogram with three significant digits over nanoseconds: up to 2,048 ns each value has its
own, then each doubling is cut into 1,024. Adding is done in arrays: one by one, a value would cost a microsecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from loadgen.samples import Ints
from loadgen.summary import Lateness, Times

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

DIGITS: Final = 3
_HALF_BITS: Final = 10
_MOST_BITS: Final = 47
"""2^47 ns are 39 hours; no request may last longer than 24."""
_MOST_NS: Final = 2**_MOST_BITS - 1
_BUCKETS: Final = (_MOST_BITS - _HALF_BITS + 1) << _HALF_BITS

RELATIVE_ERROR: Final = 2.0**-11
"""Of a value read from a bucket's middle, at most."""


def bucket_of(values: Ints) -> NDArray[np.int64]:
    """The bucket's number for each value in ns, which must not be negative; shape as given."""
    values = np.minimum(values, _MOST_NS)
    bits = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - (_HALF_BITS + 1), 0)
    return (shift << _HALF_BITS) + (values >> shift)


def middle_of(bucket: int) -> int:
    """The value in the middle of a bucket, in ns."""
    shift = max((bucket >> _HALF_BITS) - 1, 0)
    lowest = (bucket - (shift << _HALF_BITS)) << shift
    return lowest + ((1 << shift) >> 1)


class Histogram:
    """How many times fell into each bucket. Least, most, number and sum are exact."""

    __slots__ = ("counts", "max_ns", "min_ns", "sum_ns", "total")

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(_BUCKETS, dtype=np.int64)
        self.total = 0
        self.sum_ns = 0
        self.min_ns = _MOST_NS
        self.max_ns = 0

    def add(self, values: Ints) -> None:
        """Counts times in ns."""
        if not len(values):
            return
        counts = np.bincount(bucket_of(values))
        self.counts[: len(counts)] += counts
        self.total += len(values)
        self.sum_ns += int(values.sum())
        self.min_ns = min(self.min_ns, int(values.min()))
        self.max_ns = max(self.max_ns, int(values.max()))

    def merge(self, other: Histogram) -> None:
        """Counts what the other has counted."""
        self.counts += other.counts
        self.total += other.total
        self.sum_ns += other.sum_ns
        self.min_ns = min(self.min_ns, other.min_ns)
        self.max_ns = max(self.max_ns, other.max_ns)

    def percentiles(self, *qs: float) -> list[int]:
        """For each q the middle of the bucket of the value with that place, as `loadgen.summary.percentile` has it.

        There must be a value. Off by RELATIVE_ERROR at most, and never outside what occurred.
        """
        reached = np.cumsum(self.counts)
        places = [min(self.total - 1, int(q * self.total)) for q in qs]
        buckets = np.searchsorted(reached, places, side="right")
        return [min(max(middle_of(int(bucket)), self.min_ns), self.max_ns) for bucket in buckets]

    def times(self) -> Times | None:
        """The figures of response times; None where there are none."""
        if not self.total:
            return None
        p50, p90, p95, p99 = self.percentiles(0.50, 0.90, 0.95, 0.99)
        return Times(self.min_ns, p50, p90, p95, p99, self.max_ns, self.sum_ns / self.total)

    def lateness(self) -> Lateness | None:
        """The figures of lateness; None where there are none."""
        if not self.total:
            return None
        p50, p99 = self.percentiles(0.50, 0.99)
        return Lateness(p50, p99, self.max_ns)

    def to_hdr(self) -> HdrHistogram:
        """The same as the library's own object, in ns."""
        from hdrh.histogram import HdrHistogram

        hdr = HdrHistogram(1, _MOST_NS, DIGITS)
        for bucket in np.flatnonzero(self.counts).tolist():
            hdr.record_value(middle_of(bucket), int(self.counts[bucket]))
        return hdr
