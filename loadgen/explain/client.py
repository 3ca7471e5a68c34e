"""Cause `client`: the generator, not the server, set these numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loadgen.explain.evidence import count_of
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.words import spoken_ms
from loadgen.outcome import Outcome
from loadgen.samples import MISSING
from loadgen.summary import Lateness

CPU_LIMIT_PERCENT: Final = 90.0
RELEASE_SHARE: Final = 0.1
"""Of the fastest response; a release longer than that is not 'at once' any more."""
RELEASE_MIN_MS: Final = 1.0
"""A shorter one moves no figure by a whole millisecond."""
LAG_SHARE: Final = 0.25
"""Of the median response: a loop that late, one time in a hundred, blurs what it measures."""
LATE_SHARE: Final = 0.05
"""Of the median response; requests at a rate that begin so late are not at that rate."""
LATE_MIN_MS: Final = 1.0
LAG_MIN_MS: Final = 10.0
"""Below it a lag is the timers' own coarseness and the machine's noise."""


def find(reading: Reading) -> Finding | None:
    """The finding, where anything says that the generator was the bottleneck."""
    evidence = reading.evidence
    if not evidence.terms.networked:  # who hands tasks to an executor is part of what is measured
        return None
    samples, use = evidence.samples, evidence.use
    reasons: list[str] = []
    facts: dict[str, Any] = {
        "cpu_percent": round(use.cpu_percent, 1),
        "loop_lag_p99_ms": round(use.loop_lag_p99_ms, 3),
    }
    tally = evidence.tally
    refused = samples.outcome == Outcome.CLIENT
    capped = count_of(refused & (samples.begun == MISSING) & (samples.due != MISSING))
    starved = count_of(refused) - capped
    if tally is not None:  # of the whole run
        capped, starved = tally.capped, tally.outcomes[Outcome.CLIENT] - tally.capped
    if capped:
        reasons.append(
            f"{capped:,} requests were due while as many were under way as may be (--max-in-flight), and were not sent"
        )
        facts["over_max_in_flight"] = capped
    if use.lost_workers:
        known = f", and {use.lost_requests:,} requests with them" if use.lost_requests else ""
        reasons.append(f"{use.lost_workers} of its {use.workers} workers ended before they had told what came{known}")
        facts |= {"lost_workers": use.lost_workers, "lost_requests": use.lost_requests}
    starved -= use.lost_requests
    if starved > 0:
        reasons.append(f"{starved:,} requests found no free descriptor or port on this machine")
        facts["out_of_descriptors_or_ports"] = starved
    before = len(reasons)
    if samples.ok.any():
        if use.cpu_percent > CPU_LIMIT_PERCENT:
            reasons.append(f"it kept {use.cpu_percent:.0f} % of a core busy")
        fastest_ms = float(samples.response_ns[samples.ok].min()) / 1e6
        median_ms = float(np.median(samples.response_ns[samples.ok])) / 1e6
        begun = samples.begun[: evidence.concurrency]
        begun = begun[begun != MISSING]
        release_ms = float(begun.max() - begun.min()) / 1e6 if len(begun) else 0.0
        facts |= {"release_ms": round(release_ms, 3), "fastest_ms": round(fastest_ms, 3)}
        lateness = Lateness.of(samples) if tally is None else tally.late.lateness()
        if lateness is not None and lateness.max_ns:  # only arrivals at a rate can be late
            facts["lateness_p99_ms"] = round(lateness.p99_ns / 1e6, 3)
            if lateness.p99_ns / 1e6 > max(LATE_MIN_MS, LATE_SHARE * median_ms):
                reasons.append(f"one request in a hundred began {spoken_ms(lateness.p99_ns)} or more after it was due")
        if evidence.is_burst and release_ms > max(RELEASE_MIN_MS, RELEASE_SHARE * fastest_ms):
            reasons.append(
                f"it took {spoken_ms(release_ms * 1e6)} to release {evidence.concurrency:,} requests,"
                f" {100 * release_ms / fastest_ms:.0f} % of the fastest response"
            )
        # The loop stands still during a release, by intention: that is judged above. Where requests begin at moments of
        # their own, it is judged by how late they did.
        elif not facts.get("lateness_p99_ms") and use.loop_lag_p99_ms > max(
            LAG_MIN_MS, LAG_SHARE * median_ms, 1.5 * release_ms
        ):
            late = spoken_ms(use.loop_lag_p99_ms * 1e6)
            reasons.append(f"its event loop was late by {late} or more, one time in a hundred")
    if not reasons:
        return None
    hint = ""
    if len(reasons) > before and use.on_this_machine and use.workers < evidence.cpus and evidence.concurrency != 1:
        hint = f" --workers {evidence.cpus} shares the load out over {evidence.cpus} cores."
    return Finding(
        cause="client",
        requests=evidence.requests,
        sentence=f"the generator, not the server, set these numbers: {'; '.join(reasons)}. Do not trust them.{hint}",
        evidence=facts,
    )
