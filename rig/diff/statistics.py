"""The statistics of two lists of values, one value a run. Pure; nothing here knows what the values are of."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Final

SIGNIFICANT: Final = 0.05
LEAST_RUNS: Final = 4
"""A side. Of n a side the most unequal outcome has p = 2 / C(2n, n): 0.1 for 3, 0.029 for 4."""
LEAST_FOR_INTERVAL: Final = 6
"""The lowest and the highest of n values hold the median with a probability of 1 - 2 / 2^n: 0.94 for 5, 0.97 for 6."""

_MOST_SPLITS: Final = 20_000
"""Ways to part the values of two sides that are all looked at: enough for 8 runs a side."""


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """An interval that holds the true median with 95 % or more, whatever the distribution; None under 6 values.

    Two of the values themselves, as many from either end: the k-th and the k-th last, with the largest k for which
    P(Binomial(n, 1/2) < k) <= 0.025. (H. A. David and H. N. Nagaraja, Order Statistics, Wiley 2003, 7.1.)
    """
    n, ordered = len(values), sorted(values)
    outside, k = 0, 0
    while 2 * (outside + comb(n, k)) <= SIGNIFICANT * 2**n:
        outside += comb(n, k)
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else None


def rank_shift(a: Sequence[float], b: Sequence[float]) -> int:
    """In how many pairs of a value of each side that of b is the higher, less those where it is the lower."""
    return sum((y > x) - (y < x) for x in a for y in b)


def mann_whitney_p(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided p of the Mann-Whitney U test: how often chance alone parts the ranks as unevenly.

    Takes two values a side or more. Exact for few of them. With ties scipy's exact form does not hold, and its
    approximation is too sure of itself (three a side could reach 0.05), so then every way to part the values is
    counted, while there are not too many.
    """
    distinct = len({*a, *b})
    if distinct == 1:  # the approximation divides by their variance
        return 1.0
    from scipy.stats import PermutationMethod, mannwhitneyu  # type: ignore[import-untyped]

    method: str | PermutationMethod = "auto"
    if distinct < len(a) + len(b) and comb(len(a) + len(b), len(a)) <= _MOST_SPLITS:
        method = PermutationMethod(n_resamples=_MOST_SPLITS)
    return min(1.0, float(mannwhitneyu(a, b, method=method).pvalue))
