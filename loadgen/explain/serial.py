"""Cause `serial`: a limit of one; requests are worked on one after another."""

from __future__ import annotations

from loadgen.explain.evidence import count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.limits import fit_details, fit_evidence, unseen_resends
from loadgen.explain.own_figures import own_figures
from loadgen.explain.reading import Reading
from loadgen.explain.words import spoken_ms


def find(reading: Reading) -> Finding:
    """The finding, for a reading whose shape it is."""
    assert reading.fit is not None
    terms, service_ns = reading.evidence.terms, reading.fit.median_ns
    done = reading.evidence.samples.done[reading.released]
    own = own_figures(reading)
    busy = "; its CPU was busy all the time" if reading.is_saturated else ""
    return Finding(
        cause="serial",
        requests=count_of(reading.waited),
        sentence=(
            f"one after another: {terms.server} works on one {terms.request} at a time, about"
            f" {spoken_ms(service_ns)} each{_lead(reading)}, so the last of {reading.fit.requests:,} was done after"
            f" {spoken_ms(float(done.max()))}{busy}"
            f"{own.clause}{unseen_resends(reading)}."
        ),
        evidence={**fit_evidence(reading), **own.evidence, "last_done_ms": milliseconds(done.max())},
        details=fit_details(reading),
    )


def _lead(reading: Reading) -> str:
    """What came before, where something did."""
    if not reading.lead_ns:
        return ""
    return f", after {spoken_ms(reading.lead_ns)} in which they waited side by side"
