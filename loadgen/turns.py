"""Whose turn it is: several things by turns, in the shares of their weights. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace


def turns(weights: Sequence[int], skip: int = 0) -> Iterator[int]:
    """The index of the thing whose turn it is, without end; equal weights: in turn. `skip` turns are left out first.

    The turn with number j, from 0, of a thing with weight w comes at the moment (j + 1/2) / w (the divisors of
    Sainte-Lague). So in any stretch of as many turns as the weights add up to, counted from the beginning, each has
    exactly its weight, and in between it is off by about one. Drawn at random, the shares of 400 requests would be off
    by tens, and two runs could not be compared.
    """
    queue = [(0.5 / weight, index, 0) for index, weight in enumerate(weights)]
    heapify(queue)
    while True:
        _, index, number = queue[0]
        heapreplace(queue, ((number + 1.5) / weights[index], index, number + 1))
        if skip:
            skip -= 1
        else:
            yield index
