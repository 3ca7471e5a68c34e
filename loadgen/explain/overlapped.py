"""Cause `overlapped`: all waits ran side by side; no limit was met."""

from __future__ import annotations

from loadgen.explain.evidence import count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.queueing import most_at_once
from loadgen.explain.reading import Reading
from loadgen.explain.words import spoken_ms
from loadgen.samples import MISSING


def find(reading: Reading) -> Finding:
    """The finding, for a reading whose shape it is."""
    fit = reading.fit
    assert fit is not None
    low, high = fit.range_ns
    served = count_of(reading.served)
    known = reading.start_ns != MISSING
    at_once = most_at_once(reading.start_ns[known], reading.evidence.samples.done[known])
    evidence = {"at_once": at_once, "spread": round(fit.free_spread, 4), "in_order": round(reading.in_order, 2)}
    if reading.possible_limit is not None:
        evidence["possible_limit"] = reading.possible_limit
    return Finding(
        cause="overlapped",
        requests=served,
        sentence=(
            f"all waits ran side by side, {spoken_ms(low)} to {spoken_ms(high)} each:"
            f" no limit was met up to {at_once:,} at once{_doubt(reading)}."
        ),
        evidence=evidence,
        details={
            "service_ms": milliseconds(fit.median_ns),
            "service_range_ms": [milliseconds(low), milliseconds(high)],
        },
    )


def _doubt(reading: Reading) -> str:
    """What else fits. Work that shares a CPU runs side by side too, and its length alone does not tell."""
    doubts, terms = [], reading.evidence.terms
    if reading.possible_limit is not None:
        doubts.append(f"they went in waves of {reading.possible_limit:,}: these are too few {terms.request}s to tell")
    if reading.server_cores is None and not reading.evidence.server.lone_ns:
        doubts.append(f"they shared its CPU and slowed each other: its CPU time, or {terms.alone}, would tell")
    return f" (or {'; or '.join(doubts)})" if doubts else ""
