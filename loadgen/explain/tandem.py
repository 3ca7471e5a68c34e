"""Two stages after one another: requests wait side by side first, and then pass one at a time.

A handler that awaits something and then computes is such a server on an event loop, and on threads under one
interpreter lock. Its completions come at equal distances from the first on, which no number of places makes: those
that found a place at once would end together.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from loadgen.samples import Ints

_FEWEST: Final = 10
_ALIKE: Final = 0.35
_MOST: Final = 0.8
"""Of the distances between completions, the part that must be alike."""
_LEAST_GAPS: Final = 2.5
"""The first completion must come later than that many distances: else one at a time explains it by itself."""
_SPAN_PART: Final = 0.5
"""Of the first response time, the least that all completions must be spread over: less is the answers' own cost."""
_BEYOND_ARRIVALS: Final = 4.0
"""Times the spread of the arrivals: completions that follow these are as far apart as they were."""
_OFF_LINE: Final = 0.1
_TOGETHER: Final = 0.2
_MOST_TOGETHER: Final = 0.4
_LEAST_GAP_NS: Final = 2_000_000


def lead_ns(arrival_ns: Ints, done_ns: Ints, *, busy: bool) -> int:
    """How long requests that arrived together waited side by side before they passed one at a time; 0: they did not.

    Shapes (n,), in any order. `busy`: the server's CPU was in use all the time, as by such work, and not by waiting.
    """
    if len(done_ns) < _FEWEST:
        return 0
    done = np.sort(done_ns)
    gaps = np.diff(done)
    gap, first = float(np.median(gaps)), float(done[0] - arrival_ns.min())
    spread = float(done[-1] - done[0])
    is_regular = np.mean(np.abs(gaps - gap) <= _ALIKE * gap) >= _MOST
    if (
        not (is_regular or (busy and _is_steady(done)))
        or gap < _LEAST_GAP_NS
        or first < _LEAST_GAPS * gap
        or spread < max(_SPAN_PART * first, _BEYOND_ARRIVALS * float(np.ptp(arrival_ns)))
    ):
        return 0
    return round(first - gap)


def _is_steady(done: Ints) -> bool:
    """Whether completions keep one pace, though not each distance is the same: others took the CPU in between.

    Waves do not: within each, nothing lies between its completions.
    """
    line = np.linspace(done[0], done[-1], len(done))
    gaps = np.diff(done)
    together = np.mean(gaps < _TOGETHER * gaps.mean())
    return bool(np.abs(done - line).max() <= _OFF_LINE * np.ptp(done) and together <= _MOST_TOGETHER)
