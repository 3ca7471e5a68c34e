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
    if _rank_deviations(wave, response) > _DEVIATIONS:
        return Order.WAVES
    if not _is_sorted(wave, response):
        return Order.NO
    return Order.WAVES if _chance_of_sorted(wave) < np.log(CHANCE) else Order.MAYBE


def ln_chance_of_subset(n: int, k: int) -> float:
    """ln of the chance that k of n, drawn at random, are the last k."""
    return lgamma(k + 1) + lgamma(n - k + 1) - lgamma(n + 1)


def _rank_deviations(wave: NDArray[np.int64], response: NDArray[np.float64]) -> float:
    """Spearman's rank correlation, in its standard deviations without any order."""
    if wave[0] == wave[-1] or response.min() == response.max():
        return 0.0
    return float(np.corrcoef(_ranks(wave), _ranks(response))[0, 1] * np.sqrt(len(wave) - 1))


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
