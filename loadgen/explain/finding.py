"""A finding: one reason for what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

CAUSES: Final = (
    "client",
    "timeout",
    "shed",
    "accept-queue",
    "stall",
    "serial",
    "concurrency-limit",
    "connection-limit",
    "cpu-shared",
    "overlapped",
    "unexplained",
)
"""The closed list, in the order in which findings are given: what puts the others in doubt first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason, with what it rests on."""

    cause: str
    """One of CAUSES."""
    requests: int
    """How many requests it accounts for."""
    sentence: str
    """Condition and reason, for a person."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """What was seen, by name; a unit in the name where a number has one."""
    details: dict[str, Any] = field(default_factory=dict)
    """What it gives beyond a count, such as `limit`, `waves`, `service_ms`; beside `cause` in the JSON."""
