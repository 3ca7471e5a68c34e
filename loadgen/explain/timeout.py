"""Cause `timeout`: the client gave up waiting."""

from __future__ import annotations

import numpy as np

from loadgen.explain.evidence import count_of
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.words import counted, joined, spoken_ms, spoken_s
from loadgen.outcome import Outcome
from loadgen.samples import MISSING


def find(reading: Reading) -> Finding | None:
    """The finding, where a request's time was up; says where in the request that was."""
    rows = reading.timed_out
    total = count_of(rows)
    if not total:
        return None
    samples = reading.evidence.samples
    connecting = rows & (samples.outcome == Outcome.CONNECT_TIMEOUT)
    receiving = rows & (samples.first_byte != MISSING)
    waiting = rows & ~connecting & ~receiving
    where = {
        "while connecting": count_of(connecting),
        "while waiting for the first byte": count_of(waiting),
        "in the middle of the response": count_of(receiving),
    }
    parts = [f"{count:,} {place}" for place, count in where.items() if count]
    shortest_ns = float(np.min(samples.response_ns[rows]))
    after = spoken_s(shortest_ns / 1e9) if shortest_ns >= 1e9 else spoken_ms(shortest_ns)
    sentence = f"{counted(total, 'request')} had not ended after {after} and were given up: {joined(parts)}"
    dropped = count_of(connecting & reading.resent)
    if dropped:
        sentence += f"; the SYNs of {dropped:,} had been sent again, so nothing took their connections"
    return Finding(
        cause="timeout",
        requests=total,
        sentence=f"{sentence}.",
        evidence={
            "connecting": count_of(connecting),
            "waiting": count_of(waiting),
            "receiving": count_of(receiving),
            "resent_while_connecting": dropped,
        },
    )
