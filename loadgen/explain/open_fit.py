"""The concurrency limit of an open run whose completions fell behind, where two ways to it agree. Pure.

One is the limit that makes the service times most alike (`queueing`: the recursion holds for arrivals of any kind). The
other is Little's law: places = completions a second x service time, the latter from the first responses, which came
before any queue.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from loadgen.explain.backlog import Backlog, capacity_rps
from loadgen.explain.fit import Fit
from loadgen.explain.queueing import Queue
from loadgen.samples import Ints

_SPREAD: Final = 0.05
_SPREAD_PART: Final = 0.2
"""Of the part by which completions fell behind: near the capacity few wait at first, and the fit is coarse."""
_ALIKE: Final = 0.1
_LITTLE: Final = 0.03
_LITTLE_LEAST: Final = 0.25
"""Places by which the two ways may differ, where a part of the limit is less."""
_MOST: Final = 0.25
"""Of the requests; a limit of more has had too few turns."""


def sure_fit(arrival_ns: Ints, done_ns: Ints, backlog: Backlog) -> Fit | None:
    """The limit; None where completions kept up, or it is not sure. Arrays of shape (n,), in any order."""
    if not backlog.grows:
        return None
    fit = Queue(arrival_ns, done_ns).fit()
    by_arrival = np.argsort(arrival_ns, kind="stable")
    first_ns = float(np.median((done_ns - arrival_ns)[by_arrival[: fit.limit]]))
    by_law = capacity_rps(done_ns) * first_ns / 1e9
    agrees = abs(by_law - fit.limit) <= max(_LITTLE * fit.limit, _LITTLE_LEAST)
    behind = backlog.growth_rps / backlog.arrival_rps
    alike = fit.spread <= min(_SPREAD, _SPREAD_PART * behind) and abs(fit.alike - 1) <= _ALIKE
    return fit if agrees and alike and fit.limit <= _MOST * len(done_ns) else None
