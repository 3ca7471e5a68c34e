"""Cause `connection-limit`: the server accepts so many connections at once; the kernel holds the others."""

from __future__ import annotations

from loadgen.explain.evidence import count_of
from loadgen.explain.finding import Finding
from loadgen.explain.limits import fit_details, fit_evidence, waves_of
from loadgen.explain.reading import Reading
from loadgen.explain.shape import held_in_accept_queue
from loadgen.explain.words import counted, spoken_ms, waves_sum


def find(reading: Reading) -> Finding:
    """The finding, for a reading whose shape it is."""
    rows = reading.starved
    left = count_of(rows)
    if left:
        concurrency = reading.evidence.concurrency
        limit = concurrency - left
        return Finding(
            cause="connection-limit",
            requests=left,
            sentence=(
                f"the server accepts {counted(limit, 'connection')} at once and keeps them: {left:,} of"
                f" {concurrency:,} connections stood in its accept queue while the others were served again and again."
            ),
            evidence={"starved": left, "connections": concurrency},
            details={"limit": limit},
        )
    fit = reading.fit
    assert fit is not None
    held = held_in_accept_queue(reading)
    assert held is not None
    waves = waves_of(reading)
    seen = f"{len(waves)} waves, {waves_sum(waves)}: " if waves and reading.evidence.is_burst else ""
    return Finding(
        cause="connection-limit",
        requests=count_of(reading.waited),
        sentence=(
            f"{seen}the server accepts {counted(fit.limit, 'connection')} at once, about"
            f" {spoken_ms(fit.median_ns)} each; the others were connected, but stood in its accept queue until one was"
            " closed."
        ),
        evidence={**fit_evidence(reading), "held_in_accept_queue": round(held.part, 2), "accepted": held.accepted},
        details=fit_details(reading),
    )
