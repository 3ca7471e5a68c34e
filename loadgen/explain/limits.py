"""What the causes with a limit say alike: its details, its evidence, its waves."""

from __future__ import annotations

from typing import Any

from loadgen.explain.evidence import milliseconds
from loadgen.explain.reading import Reading


def waves_of(reading: Reading) -> list[int]:
    """How many requests each turn of the limit served, of those released together; empty where no waves show."""
    assert reading.fit is not None
    if reading.is_blurred:
        return []
    whole, rest = divmod(reading.fit.requests, reading.fit.limit)
    return [reading.fit.limit] * whole + ([rest] if rest else [])


def fit_details(reading: Reading) -> dict[str, Any]:
    """Limit, waves and service time, as they stand beside the cause."""
    assert reading.fit is not None
    low, high = reading.fit.range_ns
    return {
        "limit": reading.fit.limit,
        "waves": waves_of(reading),
        "service_ms": milliseconds(reading.fit.median_ns),
        "service_range_ms": [milliseconds(low), milliseconds(high)],
    }


def unseen_resends(reading: Reading) -> str:
    """What could not be seen, where the platform does not tell which connections sent anything again."""
    if reading.evidence.sees_resends or not reading.evidence.terms.networked:
        return ""
    return "; requests that TCP had to send again would look alike, and TCP_INFO is not to be seen here"


def fit_evidence(reading: Reading) -> dict[str, Any]:
    """What the limit rests on."""
    assert reading.fit is not None
    evidence: dict[str, Any] = {
        "released": reading.fit.requests,
        "spread": round(reading.fit.spread, 4),
        "spread_without_limit": round(reading.fit.free_spread, 4),
        "pause_after_first_wave": reading.fit.gap,
    }
    if reading.server_cores is not None:
        evidence["server_cores"] = round(reading.server_cores, 2)
    return evidence
