"""What the servers' own figures (Server-Timing) come to, each metric apart from the others. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadgen.explain.words import joined, spoken_ms
from loadgen.run import Run
from loadgen.samples import MISSING


def own_figures_words(runs: Sequence[Run]) -> str:
    """`by the server's own figures acquire took 4,819 ms in the median (0.0 ms to 9,576 ms) and work 501 ms (...)`.

    Over all requests of the runs; empty where there are no such figures.
    """
    parts: list[str] = []
    for name in dict.fromkeys(name for run in runs for name in run.samples.server_timing):
        columns = [run.samples.server_timing[name] for run in runs if name in run.samples.server_timing]
        values = np.concatenate(columns)
        values = values[values != MISSING]
        if len(values):
            low, middle, high = (float(value) for value in np.quantile(values, (0.0, 0.5, 1.0)))
            where = "" if parts else " in the median"
            took = "" if parts else " took"
            parts.append(f"{name}{took} {spoken_ms(middle)}{where} ({spoken_ms(low)} to {spoken_ms(high)})")
    return f"by the server's own figures {joined(parts)}" if parts else ""
