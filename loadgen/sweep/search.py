"""Which level to try next, to find the highest that keeps an objective. Pure: it knows nothing of how one is tried.

Doubling from the lowest until one does not keep it, then halving what is left on a logarithmic scale until the two ends
are within TOLERANCE; then the answer is tried once more. Where that fails, the next one below is tried in its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from loadgen.sweep.levels import rounded

TOLERANCE: Final = 0.05
_MOST_CONFIRMATIONS: Final = 4


@dataclass(slots=True)
class Bracket:
    """The search: `next` gives a level, `tell` takes whether it was kept.

    Invariant: kept < missed, where both are known.
    """

    low: float
    high: float
    whole: bool
    """Whether levels are whole numbers."""
    kept: float | None = None
    """The highest level kept so far."""
    missed: float | None = None
    """The lowest not kept."""
    _passes: dict[float, int] = field(default_factory=dict, init=False)
    """How often each level below the lowest missed was kept."""
    _instead: float | None = field(default=None, init=False)
    """The level to try in place of one that was kept, and was not when tried once more."""
    _confirmations: int = field(default=0, init=False)
    _trying: float | None = field(default=None, init=False)

    @property
    def confirmed(self) -> bool:
        """Whether the highest level kept was kept when tried once more, too."""
        return self.kept is not None and self._passes[self.kept] > 1

    def next(self) -> float | None:
        """The level to try now; None where the search has ended."""
        self._trying = self._level()
        return self._trying

    def tell(self, was_kept: bool) -> None:
        """Takes what came of the level given last."""
        level = self._trying
        assert level is not None
        was_answer = level in (self.kept, self._instead)
        self._instead = None
        if was_kept:
            self._passes[level] = self._passes.get(level, 0) + 1
            self.kept = level
            return
        self.missed = level
        self._passes = {below: times for below, times in self._passes.items() if below < level}
        self.kept = max(self._passes, default=None)
        if was_answer:
            below = rounded(level / (1 + TOLERANCE), whole=self.whole)
            below = min(below, level - 1) if self.whole else below
            if below >= self.low and (self.kept is None or below > self.kept):
                self._instead = below

    @property
    def is_narrow(self) -> bool:
        """Whether the ends are as near as they are to be."""
        if self.kept is None or self.missed is None:
            return False
        return self.missed <= self.kept * (1 + TOLERANCE) * 1.001 or (self.whole and self.missed - self.kept <= 1)

    def _level(self) -> float | None:
        if self._instead is not None and self._confirmations < _MOST_CONFIRMATIONS:
            self._confirmations += 1
            return self._instead
        if self.kept is None:
            return self.low if self.missed is None else None
        if self.missed is None and self.kept < self.high:
            return min(rounded(2 * self.kept, whole=self.whole), self.high)
        if self.missed is not None and not self.is_narrow:
            middle = rounded(math.sqrt(self.kept * self.missed), whole=self.whole)
            if self.kept < middle < self.missed:
                return middle
        if self.confirmed or self._confirmations >= _MOST_CONFIRMATIONS:
            return None
        self._confirmations += 1
        return self.kept
