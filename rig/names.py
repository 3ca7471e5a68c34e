"""Names of what was measured, told apart where one comes twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def distinct(names: Iterable[str]) -> list[str]:
    """The names in their order; what was measured twice is `async` and `async (2)`."""
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told
