"""Where it was seen itself when the work on each began, as of an executor's tasks: the limit is counted, not inferred.

Pure functions of arrivals, starts and completions; shapes (n,), in ns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from loadgen.explain.fit import WAIT_PART, Fit
from loadgen.explain.queueing import Queue
from loadgen.samples import Ints
from loadgen.summary import most_at_once

_SOME: Final = 0.02
_WHOLE: Final = 0.75
"""Of a service time: who waited for so long waited for one to end."""


def seen_fit(queue: Queue, arrival_ns: Ints, started_ns: Ints, done_ns: Ints) -> Fit:
    """The limit that was seen, and the service times; no limit where hardly any waited, and not for long."""
    fit = queue.fit_at(most_at_once(started_ns, done_ns))
    service_ns = done_ns - started_ns
    usual_ns = float(np.median(service_ns))
    # A worker that is slow to come, at its start, makes tasks wait too: of that the inferred start knows nothing.
    wait_ns = np.minimum(fit.start_ns, started_ns) - arrival_ns
    few = np.count_nonzero(wait_ns > WAIT_PART * usual_ns) < _SOME * fit.limit
    if few and wait_ns.max() < _WHOLE * usual_ns:
        fit = queue.fit_at(queue.n)
    return replace(fit, start_ns=started_ns, service_ns=service_ns)


def mean_at_once(started_ns: Ints, done_ns: Ints) -> int:
    """How many were worked on at once, in the mean up to the last completion, by Little's law; at least 1."""
    return max(1, round(float((done_ns - started_ns).sum()) / float(done_ns.max())))
