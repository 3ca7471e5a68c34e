"""When services begin and end. Pure arithmetic on integer nanoseconds: no clock, no sockets.

A first-come-first-served queue before L equal slots needs no simulation of its queue: a request begins at its arrival
or when the earliest slot comes free, whichever is later (the recursion of Kiefer and Wolfowitz for G/G/L). Its end is
the moment that slot comes free again.
"""

from __future__ import annotations

from heapq import heapreplace

from servers.calibrated.settings import NS_PER_MS

NEVER_NS = 1 << 62


class Slots:
    """L equal slots, kept as a heap of the moments at which each comes free."""

    __slots__ = ("_free_ns",)

    def __init__(self, limit: int) -> None:
        self._free_ns = [0] * limit

    def begin_ns(self, arrival_ns: int) -> int:
        """Returns when a request that arrived then can begin: at once, or when the earliest slot comes free."""
        return max(arrival_ns, self._free_ns[0])

    def take(self, end_ns: int) -> None:
        """Gives the earliest slot to a request that ends then."""
        heapreplace(self._free_ns, end_ns)


class Unlimited(Slots):
    """As many slots as requests."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)

    def begin_ns(self, arrival_ns: int) -> int:
        """Returns the arrival itself."""
        return arrival_ns

    def take(self, end_ns: int) -> None:
        """Does nothing: there is always another slot."""


class Standstills:
    """The standstills on a fixed grid: one begins at origin + k * every, for k = 1, 2, ..., and lasts `length`.

    Args:
        every_ms: Milliseconds between the beginnings; 0 for no standstill at all.
        length_ms: Milliseconds that each lasts, below `every_ms`.
        origin_ns: The moment the grid is counted from.
    """

    __slots__ = ("_every_ns", "_length_ns", "_origin_ns")

    def __init__(self, every_ms: float, length_ms: float, origin_ns: int) -> None:
        self._every_ns = round(every_ms * NS_PER_MS)
        self._length_ns = round(length_ms * NS_PER_MS)
        self._origin_ns = origin_ns

    def defer_ns(self, at_ns: int) -> int:
        """Returns the moment itself or, where it falls into a standstill, that standstill's end."""
        if not self._every_ns:
            return at_ns
        turns, into_ns = divmod(at_ns - self._origin_ns, self._every_ns)
        return at_ns if turns < 1 or into_ns >= self._length_ns else at_ns - into_ns + self._length_ns

    def next_ns(self, at_ns: int) -> tuple[int, int]:
        """Returns the beginning and end of the standstill at that moment or, where there is none, of the next."""
        if not self._every_ns:
            return NEVER_NS, NEVER_NS
        turns, into_ns = divmod(at_ns - self._origin_ns, self._every_ns)
        turn = turns if turns >= 1 and into_ns < self._length_ns else max(turns, 0) + 1
        begin_ns = self._origin_ns + turn * self._every_ns
        return begin_ns, begin_ns + self._length_ns
