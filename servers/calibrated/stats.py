"""What the server did, and by how much it missed what it was told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from servers.calibrated.settings import NS_PER_MS

_LONGEST_US: Final = 3_600_000_000
_DIGITS: Final = 3
_BUCKET_NS = 10_000
_BUCKETS = 10_000


class Lateness:
    """A distribution of delays: 10 us a bucket up to 100 ms, the greatest exactly."""

    __slots__ = ("_buckets", "count", "max_ns")

    def __init__(self) -> None:
        self._buckets = [0] * (_BUCKETS + 1)
        self.count = 0
        self.max_ns = 0

    def add(self, late_ns: int) -> None:
        """Counts one delay, in nanoseconds; a negative one counts as 0."""
        self.count += 1
        if late_ns > self.max_ns:
            self.max_ns = late_ns
        self._buckets[min(max(late_ns, 0) // _BUCKET_NS, _BUCKETS)] += 1

    def percentile_ms(self, q: float) -> float | None:
        """Returns the value at index min(n - 1, floor(q n)) of the sorted delays.

        In milliseconds, up to 0.01 too high; None where nothing was counted.
        """
        if not self.count:
            return None
        rank = min(self.count - 1, int(q * self.count))
        seen = 0
        for index, count in enumerate(self._buckets[:_BUCKETS]):
            seen += count
            if seen > rank:
                return min((index + 1) * _BUCKET_NS, self.max_ns) / NS_PER_MS
        return self.max_ns / NS_PER_MS

    def report(self) -> dict[str, float | None]:
        """Returns count, median, p99 and greatest delay, in milliseconds; None where nothing was counted."""
        greatest_ms = self.max_ns / NS_PER_MS if self.count else None
        return {
            "count": self.count,
            "p50_ms": self.percentile_ms(0.50),
            "p99_ms": self.percentile_ms(0.99),
            "max_ms": greatest_ms,
        }


class Responses:
    """The response times as the server has them, to a thousandth: from the kernel's receipt to the answer written."""

    __slots__ = ("_histogram",)

    def __init__(self) -> None:
        self._histogram = HdrHistogram(1, _LONGEST_US, _DIGITS)

    def add(self, response_ns: int) -> None:
        """Counts one, in nanoseconds."""
        self._histogram.record_value(max(1, response_ns // 1_000))

    def report(self) -> dict[str, float | None]:
        """Returns count, median, p99 and greatest response time, in milliseconds; None where nothing was counted."""
        count = self._histogram.get_total_count()
        p50, p99, greatest = (self._histogram.get_value_at_percentile(at) / 1_000 for at in (50, 99, 100))
        return {
            "count": count,
            "p50_ms": p50 if count else None,
            "p99_ms": p99 if count else None,
            "max_ms": greatest if count else None,
        }


@dataclass(slots=True)
class Counters:
    """Counts since the start or the last reset, beside those that every server keeps (`servers.stats`).

    Attributes:
        gone: Requests that were worked on and whose client was not there any more to be answered.
        shed: Requests answered 503 because all slots were taken.
        peak_waiting: Most requests that waited for a slot at once.
        accepted: Connections accepted.
        peak_open: Most connections open at once.
        stalls: Standstills.
        stalled_ns: What they lasted together.
        error: Answer written after the end of its service; standstills are left out.
        pickup: Request read after the kernel had received it.
        response: Answer written after the kernel had received the request; what stood still is in it.
    """

    gone: int = 0
    shed: int = 0
    peak_waiting: int = 0
    accepted: int = 0
    peak_open: int = 0
    stalls: int = 0
    stalled_ns: int = 0
    error: Lateness = field(default_factory=Lateness)
    pickup: Lateness = field(default_factory=Lateness)
    response: Responses = field(default_factory=Responses)
