"""The number of places that makes the completions likeliest, where service times are too unlike for waves to show.

With the model of `queueing` and `limit` places, the completion of request i has the density of the service times at
s_i = d_i - start_i. Taken for log-normal (times are above 0, and long ones are further out than short ones), with mean
and deviation from the data themselves, the log-likelihood a request is

    -log(deviation of log s) - mean of log s

The second term is the density's own scale (s, not log s, is what was measured); without it the smallest limit always
wins. A limit under which requests end before they begin is not possible at all: that alone rules out most that are
too low, and the first term those that are too high.

This contains Little's law: mean service time = limit / rate of completions, for as long as requests wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_IMPOSSIBLE: Final = 0.01
"""So many may end before they begin: neighbours may have been taken in the other order, and clocks are read late."""
_FLOOR: Final = 0.02
"""Of the mean; shorter times are the clock's, not the server's."""
_ALIKE: Final = float(np.log(2.2))
_ROWS: Final = 3_000
"""So many requests, spread over the run, tell as much as all."""
_RATIO: Final = 1.05
_AROUND: Final = 0.12
_MOST_AROUND: Final = 400


@dataclass(frozen=True, slots=True)
class Likeliest:
    """A number of places."""

    limit: int
    gain: float
    """How much likelier than no limit; natural logarithm, over all requests."""


def likeliest_limit(arrival: Floats, done: Floats, done_sorted: Floats) -> Likeliest:
    """The likeliest number of places; shapes (n,), arrivals in the order in which they were taken, times in ns."""
    n = len(arrival)
    rows = np.arange(n) if n <= _ROWS else np.unique(np.linspace(0, n - 1, _ROWS).astype(np.int64))
    a, d = arrival[rows], done[rows]

    def cost(limit: int) -> float:
        start = a.copy()
        behind = int(np.searchsorted(rows, limit))
        np.maximum(start[behind:], done_sorted[rows[behind:] - limit], out=start[behind:])
        return _cost(d - start, behind)

    free = cost(n)
    best = _least(cost, _powers(n), n, free)
    reach = min(max(2, int(_AROUND * best[1])), _MOST_AROUND // 2)
    best = _least(cost, range(max(1, best[1] - reach), min(n, best[1] + reach + 1)), n, best[0], best[1])
    return Likeliest(best[1], n * (free - best[0]))


def _least(
    cost: Callable[[int], float], limits: Iterable[int], n: int, least: float, at: int | None = None
) -> tuple[float, int]:
    best = (least, n if at is None else at)
    for limit in limits:
        best = min(best, (cost(limit), limit))
    return best


def _powers(n: int) -> list[int]:
    steps = int(np.log(n) / np.log(_RATIO)) + 1
    return sorted({int(_RATIO**step) for step in range(steps)})


def _cost(service: Floats, behind: int) -> float:
    """The negative log-likelihood a request, but for constants; infinite where the times are not possible.

    Nor may those from `behind` on, which had to wait, be of another kind than those that did not.
    """
    mean = float(service.mean())
    if mean <= 0 or np.count_nonzero(service < 0) > _IMPOSSIBLE * len(service):
        return float("inf")
    logs = np.log(np.maximum(service, _FLOOR * mean))
    if 0 < behind < len(logs) and abs(float(logs[:behind].mean() - logs[behind:].mean())) > _ALIKE:
        return float("inf")
    return float(np.log(max(float(logs.std()), 0.004)) + logs.mean())
