"""Cause `overlapped`: all waits ran side by side; no limit was met."""

from __future__ import annotations

from typing import Final

import numpy as np

from loadgen.explain.evidence import count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.words import counted, spoken_ms
from loadgen.samples import MISSING
from loadgen.summary import most_at_once

_FEWEST: Final = 4
_BETWEEN: Final = 1.5
"""Of the shortest time; what took longer may have waited for a turn."""
_NEAR: Final = 0.15
"""Of a turn: so near to a whole number of them all times are."""


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
            f"{'all waits' if reading.evidence.terms.waits else 'all'} ran side by side,"
            f" {spoken_ms(low)} to {spoken_ms(high)} each: no limit was met up to {at_once:,} at once{_doubt(reading)}."
        ),
        evidence=evidence,
        details={
            "service_ms": milliseconds(fit.median_ns),
            "service_range_ms": [milliseconds(low), milliseconds(high)],
        },
    )


def _turns(reading: Reading) -> int | None:
    """How many took a whole multiple of the quickest ones' time, where all others took that once; else None.

    A server of several processes, each with places of its own, makes such times: which process gets a connection is
    chance, so that no limit of all together accounts for them. So do requests of two kinds.
    """
    taken = (reading.evidence.samples.done - reading.arrival_ns)[reading.released]
    if len(taken) < _FEWEST or taken.min() <= 0:
        return None
    once = taken[taken < _BETWEEN * taken.min()]
    multiples = taken / np.median(once)
    turns = np.rint(multiples)
    if turns.max() < 2 or np.abs(multiples - turns).max() > _NEAR:
        return None
    return count_of(turns > 1)


def _doubt(reading: Reading) -> str:
    """What else fits. Work that shares a CPU runs side by side too, and its length alone does not tell."""
    doubts, terms = [], reading.evidence.terms
    if reading.possible_limit is not None:
        doubts.append(f"they went in waves of {reading.possible_limit:,}: these are too few {terms.request}s to tell")
    overtaken = count_of(reading.overtaken)
    if overtaken:
        doubts.append(
            f"{counted(overtaken, 'connection')} had to stand until others were closed, as before a server that is late"
            " in accepting, or that accepts no more at once: a longer run, or the length of its accept queue, tells"
        )
    turns = _turns(reading)
    if turns is not None:
        doubts.append(
            f"some waited: {turns:,} took twice as long as the quickest or another whole multiple of that, as where"
            f" several processes have places of their own and get unequal shares of the {terms.request}s; the same"
            " again, with fewer at once, would tell"
        )
    if reading.server_cores is None and not reading.evidence.server.lone_ns:
        doubts.append(f"they shared its CPU and slowed each other: its CPU time, or {terms.alone}, would tell")
    return f" (or {'; or '.join(doubts)})" if doubts else ""
