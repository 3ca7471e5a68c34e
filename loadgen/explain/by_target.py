"""Whether times go by target instead of by place: what a run of several targets must not be mistaken for.

Requests to a quick and to a slow target end in two waves, and none of them has waited. A place that is waited for makes
the requests to each target late alike, so the targets are held against each other before a limit is told.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from loadgen.explain.evidence import Mask
from loadgen.samples import Ints

_FEWEST: Final = 5
"""Of a target's requests, to tell anything of it."""
_MOST_PART: Final = 0.3
"""By which the parts of two targets' requests that waited may differ."""
_MOST_RATIO: Final = 1.5
"""Of two targets' service times."""
_ALIKE_SPREAD: Final = 0.17
"""Mean deviation of a target's response times from their median, as a part of it: that of uniform +-1/3."""

Numbers = NDArray[np.int16]


def places_explain(target: Numbers, service_ns: Ints, waited: Mask) -> bool:
    """Whether a limit accounts for the times whatever the target; all of shape (n,).

    The targets' service times are alike then, and so are the parts of their requests that waited. Not so where there
    are too few requests to a target to tell.
    """
    groups = _groups(target)
    if len(groups) < len(np.unique(target)):
        return False
    service = [float(np.median(service_ns[rows])) for rows in groups]
    parts = [float(waited[rows].mean()) for rows in groups]
    return max(service) <= _MOST_RATIO * min(service) and max(parts) - min(parts) <= _MOST_PART


def is_alike_within(target: Numbers, response_ns: Ints) -> bool:
    """Whether the response times of each target are alike by themselves; both of shape (n,)."""
    groups = _groups(target)
    if len(groups) < len(np.unique(target)):
        return False
    medians = [float(np.median(response_ns[rows])) for rows in groups]
    return all(
        np.abs(response_ns[rows] - median).mean() <= _ALIKE_SPREAD * median
        for rows, median in zip(groups, medians, strict=True)
    )


def _groups(target: Numbers) -> list[Mask]:
    """The rows of each target that has enough of them."""
    numbers, counts = np.unique(target, return_counts=True)
    return [np.asarray(target == number, dtype=np.bool_) for number in numbers[counts >= _FEWEST]]
