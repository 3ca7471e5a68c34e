"""Whether requests were served in the order in which they came, or only look as if: by chance, or as a mixture.

Service times of S and 2 S in random order make the same histogram as two waves. In waves, who came later ends later.
"""

from __future__ import annotations

from enum import Enum
from math import lgamma
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_DEVIATIONS: Final = 3.3
_CHANGE_DEVIATIONS: Final = 4.0
CHANCE: Final = 0.01
"""A rarer order than that is none of chance."""


class Order(Enum):
    """What the order says of waves."""

    WAVES = "waves"
    MAYBE = "maybe"
    """Just so, but of so few that chance does it too."""
    NO = "no"


def order_of(response: NDArray[np.float64], limit: int) -> Order:
    """Whether the order fits waves of `limit`.

    Args:
        response: shape (n,), in the order of arrival; inf for those that were given up while they waited.
        limit: requests a wave.
    """
    n = len(response)
    ended = np.count_nonzero(np.isfinite(response))
    # In waves it is the last ones that are given up, and nobody knows of waves among them.
    wave = np.minimum(np.arange(n) // limit, -(-ended // limit))
    ended_in = np.empty(n, dtype=np.int64)
    ended_in[np.argsort(response, kind="stable")] = wave
    if _rank_deviations(wave, ended_in) > _DEVIATIONS or _change_deviations(ended_in) < -_CHANGE_DEVIATIONS:
        return Order.WAVES
    if not _is_sorted(wave, response):
        return Order.NO
    return Order.WAVES if _chance_of_sorted(wave) < np.log(CHANCE) else Order.MAYBE


def is_together(response: NDArray[np.float64], limit: int) -> bool:
    """Whether the first wave is of neighbours in the order of arrival, wherever they stand in it."""
    later = np.ones(len(response), dtype=np.int64)
    later[np.argsort(response, kind="stable")[:limit]] = 0
    return _change_deviations(later) < -_CHANGE_DEVIATIONS


def ln_chance_of_subset(n: int, k: int) -> float:
    """ln of the chance that k of n, drawn at random, are the last k."""
    return lgamma(k + 1) + lgamma(n - k + 1) - lgamma(n + 1)


def _rank_deviations(wave: NDArray[np.int64], ended_in: NDArray[np.int64]) -> float:
    """Spearman's rank correlation of waves, in its standard deviations without any order.

    Of waves and not of times: within a wave, those that were accepted later end later without having waited.
    """
    if wave[0] == wave[-1]:
        return 0.0
    return float(np.corrcoef(_ranks(wave), _ranks(ended_in))[0, 1] * np.sqrt(len(wave) - 1))


def _change_deviations(wave: NDArray[np.int64]) -> float:
    """How often the wave changes from one arrival to the next, in deviations from what a random order would have.

    A server may take those that came within a moment in an order of its own, as the last ones first; but it takes them
    in some order, and neighbours share a wave. (A runs test.)
    """
    n = len(wave)
    sizes = np.bincount(wave)
    change = 1 - float((sizes * (sizes - 1)).sum()) / (n * (n - 1))
    if not 0 < change < 1:
        return 0.0
    changes = np.count_nonzero(np.diff(wave))
    return float((changes - (n - 1) * change) / np.sqrt((n - 1) * change * (1 - change)))


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Of each value its rank; the mean rank for equal ones."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[place]
    return ranks


def _is_sorted(wave: NDArray[np.int64], response: NDArray[np.float64]) -> bool:
    """Whether nobody of a wave ended before all of the wave before."""
    begins = np.flatnonzero(np.diff(wave, prepend=-1))
    lowest, highest = np.minimum.reduceat(response, begins), np.maximum.reduceat(response, begins)
    return bool((lowest[1:] > highest[:-1]).all())


def _chance_of_sorted(wave: NDArray[np.int64]) -> float:
    """ln of the chance that a random order is sorted by waves: the product of w! over all waves w, by n!."""
    sizes, waves = np.unique(np.bincount(wave), return_counts=True)
    ways = sum(many * lgamma(size + 1) for size, many in zip(sizes.tolist(), waves.tolist(), strict=True))
    return float(ways - lgamma(len(wave) + 1))
