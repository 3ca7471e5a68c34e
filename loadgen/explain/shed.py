"""Cause `shed`: the server turns requests away at once beyond a limit."""

from __future__ import annotations

import numpy as np

from loadgen.explain.evidence import count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.words import counted, joined, spoken_ms
from loadgen.outcome import Outcome
from loadgen.summary import most_at_once


def find(reading: Reading) -> Finding | None:
    """The finding, where requests were turned away sooner than others were served."""
    rows = reading.shed
    total = count_of(rows)
    if not total:
        return None
    samples = reading.evidence.samples
    kinds = {str(status): count_of(rows & (samples.status == status)) for status in (429, 503)}
    kinds["reset"] = count_of(rows & (samples.outcome == Outcome.RESET))
    kinds = {kind: count for kind, count in kinds.items() if count}
    response_ns = float(np.median(samples.response_ns[rows]))
    limit = most_at_once(reading.arrival_ns[samples.ok], samples.done[samples.ok])
    names = [f"{count:,} with {'a reset' if kind == 'reset' else kind}" for kind, count in kinds.items()]
    named = joined(names) if len(names) > 1 else names[0].removeprefix(f"{total:,} ")
    waits = reading.is_limited or reading.possible_limit is not None
    return Finding(
        cause="shed",
        requests=total,
        sentence=(
            f"{counted(total, 'request was', 'requests were')} turned away after {spoken_ms(response_ns)}, {named}:"
            f" the server {'takes' if waits else 'works on'} {limit:,} at once"
            f"{', at work or waiting,' if waits else ''} and does not let the others wait."
        ),
        evidence={"kinds": kinds, "response_ms": milliseconds(response_ns), "served": count_of(samples.ok)},
        details={"limit": limit},
    )
