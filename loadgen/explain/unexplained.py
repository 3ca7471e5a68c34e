"""Cause `unexplained`: late, and nothing else accounts for it."""

from __future__ import annotations

from loadgen.explain.evidence import Mask, count_of
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.stall import held_by_stalls
from loadgen.explain.words import counted, spoken_ms
from loadgen.samples import MISSING


def find(reading: Reading, shape: str | None) -> Finding | None:
    """The finding, where late requests are left that no cause accounts for."""
    rows = _left(reading, shape)
    total = count_of(rows)
    if not total:
        return None
    samples, terms = reading.evidence.samples, reading.evidence.terms
    slowest = float(samples.response_ns[rows].max())
    return Finding(
        cause="unexplained",
        requests=total,
        sentence=(
            f"{counted(total, f'late {terms.request}')} of up to {spoken_ms(slowest)}: neither a limit, nor"
            f" {'resent packets, nor ' if terms.networked else ''}a stand-still accounts for it; {terms.server} itself"
            " was slow with these."
        ),
        evidence={"rows": rows.nonzero()[0][:20].tolist(), "slowest_ms": round(slowest / 1e6, 3)},
    )


def _left(reading: Reading, shape: str | None) -> Mask:
    left: Mask = reading.evidence.late & ~reading.timed_out & ~reading.shed & ~reading.resent & ~reading.waited
    left &= ~held_by_stalls(reading) & ~(reading.overtaken if shape == "overlapped" else reading.starved)
    if shape == "cpu-shared":
        # The time that each took is what the cause itself states.
        return left & ~reading.served
    # So it is here, for the usual service times.
    left &= (reading.service_ns == MISSING) | (reading.service_ns > reading.usual_most_ns)
    return left
