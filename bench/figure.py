"""What was asked for and what was measured: figures with bounds, tables, sections. Values only."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final, Literal

Sign = Literal["<=", ">=", "<"]

_COMPARE: Final[dict[Sign, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
}
WORDS: Final[dict[Sign, str]] = {"<=": "at most", ">=": "at least", "<": "under"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One bound, and the values held against it: one a round."""

    name: str
    values: tuple[float, ...]
    """Empty: it could not be measured here."""
    sign: Sign
    bound: float
    unit: str = ""
    digits: int = 2

    @property
    def value(self) -> float | None:
        """The median."""
        return median(self.values) if self.values else None

    @property
    def met(self) -> bool | None:
        """Whether the bound was met; None where it was not measured."""
        return None if self.value is None else _COMPARE[self.sign](self.value, self.bound)

    @property
    def verdict(self) -> str:
        """`met`, `missed` or `not measured`."""
        return {True: "met", False: "missed", None: "not measured"}[self.met]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a header."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the bench: how it was measured, and what came of it."""

    title: str
    method: str
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def number(value: float | None, digits: int = 0) -> str:
    """A number with thousands separated; `n/a` for none."""
    return "n/a" if value is None else f"{value:,.{digits}f}"


def times(count: int, what: str) -> str:
    """`1 round`, `5 rounds`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def spread(values: Sequence[float | None], digits: int = 0) -> str:
    """The median, and in brackets the least and the greatest; `n/a` where a value is missing or there is none."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return "n/a"
    if len(known) == 1:
        return number(known[0], digits)
    return f"{number(median(known), digits)} ({number(min(known), digits)} to {number(max(known), digits)})"


def middle(values: Sequence[float | None]) -> float | None:
    """The median; None where a value is missing or there is none."""
    known = [value for value in values if value is not None]
    return median(known) if known and len(known) == len(values) else None
