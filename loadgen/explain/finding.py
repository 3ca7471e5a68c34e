"""A finding: one reason for what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason, with what it rests on."""

    cause: str
    """From the closed list of docs/terms.md."""
    requests: int
    """How many requests it accounts for."""
    sentence: str
    """Condition and reason, for a person."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """What was seen, by name; a unit in the name where a number has one."""
