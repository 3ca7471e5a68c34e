"""Interleaving: each client once, then each client again. Never all runs of one before those of another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

from bench.errors import ReadingError

T = TypeVar("T")


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def interleave(
    rounds: int, names: Iterable[str], measure: Callable[[str], T], *, what: str, show: Callable[[T], str]
) -> dict[str, list[T]]:
    """What `measure` gave for each name, in the order of the rounds.

    A name whose measurement fails is left out from then on, with what it gave before: a median of fewer rounds than the
    others' would not be comparable.
    """
    taken: dict[str, list[T]] = {name: [] for name in names}
    for turn in range(1, rounds + 1):
        for name in list(taken):
            label = f"{what}, round {turn} of {rounds}: {name}"
            try:
                taken[name].append(measure(name))
            except ReadingError as error:
                say(f"{label}: {error}; it is left out")
                del taken[name]
            else:
                say(f"{label}: {show(taken[name][-1])}")
    return taken
