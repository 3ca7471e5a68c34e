"""Cause `client`: the generator, not the server, set these numbers."""

from __future__ import annotations

from typing import Final

from loadgen.explain.finding import Finding
from loadgen.outcome import Outcome
from loadgen.summary import NS_PER_MS, Summary
from loadgen.watch import ClientUse

CPU_LIMIT_PERCENT: Final = 90.0
RELEASE_SHARE: Final = 0.1
"""Of the fastest response; a release longer than that is not 'at once' any more."""
LAG_SHARE: Final = 0.1
LAG_MIN_MS: Final = 5.0
"""Below it a lag is the timers' own coarseness and the machine's noise."""


def find(summary: Summary, use: ClientUse) -> Finding | None:
    """The finding, where anything says that the generator was the bottleneck."""
    reasons = []
    evidence: dict[str, float | int] = {
        "cpu_percent": round(use.cpu_percent, 1),
        "loop_lag_p99_ms": round(use.loop_lag_p99_ms, 3),
    }
    starved = summary.failures.get(Outcome.CLIENT, 0)
    if starved:
        reasons.append(f"{starved} requests found no free descriptor or port on this machine")
        evidence["out_of_descriptors_or_ports"] = starved
    if use.cpu_percent > CPU_LIMIT_PERCENT and summary.times is not None:
        reasons.append(f"it kept {use.cpu_percent:.0f} % of a core busy")
    if summary.times is not None and summary.release_ns is not None:
        fastest_ms = summary.times.min_ns / NS_PER_MS
        release_ms = summary.release_ns / NS_PER_MS
        evidence |= {"release_ms": round(release_ms, 3), "fastest_ms": round(fastest_ms, 3)}
        is_burst = summary.concurrency == summary.requests
        if is_burst and release_ms > RELEASE_SHARE * fastest_ms:
            reasons.append(
                f"it took {_ms(release_ms)} to release {summary.concurrency:,} requests,"
                f" {100 * release_ms / fastest_ms:.0f} % of the fastest response"
            )
        # The loop stands still during a release, by intention: that is judged above.
        elif use.loop_lag_p99_ms > max(LAG_MIN_MS, LAG_SHARE * fastest_ms, 1.5 * release_ms):
            reasons.append(f"its event loop was up to {_ms(use.loop_lag_p99_ms)} late")
    if not reasons:
        return None
    return Finding(
        cause="client",
        requests=summary.requests,
        sentence=f"the generator, not the server, set these numbers: {'; '.join(reasons)}. Do not trust them.",
        evidence=evidence,
    )


def _ms(ms: float) -> str:
    return f"{ms:,.0f} ms" if ms >= 10 else f"{ms:.1f} ms"
