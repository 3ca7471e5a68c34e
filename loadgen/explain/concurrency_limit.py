"""Cause `concurrency-limit`: the server works on so many requests at once; the others wait for a place."""

from __future__ import annotations

from loadgen.explain.evidence import count_of
from loadgen.explain.finding import Finding
from loadgen.explain.limits import fit_details, fit_evidence, unseen_resends, waves_of
from loadgen.explain.own_figures import OwnFigures, own_figures
from loadgen.explain.reading import Reading
from loadgen.explain.shape import NOT_IN_QUEUE, Held, held_in_accept_queue
from loadgen.explain.words import counted, spoken_ms, waves_sum


def find(reading: Reading) -> Finding:
    """The finding, for a reading whose shape it is."""
    fit = reading.fit
    assert fit is not None
    own = own_figures(reading)
    evidence = {**fit_evidence(reading), **own.evidence}
    held = held_in_accept_queue(reading)
    if held is not None:
        evidence["held_in_accept_queue"] = round(held.part, 2)
    return Finding(
        cause="concurrency-limit",
        requests=count_of(reading.waited),
        sentence=(
            f"{_blurred(reading) if reading.is_blurred else _waves(reading)}"
            f"{_place(reading, held, own)}{own.clause}{unseen_resends(reading)}."
        ),
        evidence=evidence,
        details=fit_details(reading),
    )


def _waves(reading: Reading) -> str:
    assert reading.fit is not None
    terms = reading.evidence.terms
    waves, limit, each = waves_of(reading), reading.fit.limit, spoken_ms(reading.fit.median_ns)
    if not reading.evidence.is_burst:
        return (
            f"{terms.server} works on {terms.requests(limit)} at once, about {each} each; with"
            f" {reading.evidence.concurrency:,} in flight the others wait for a place"
        )
    then = "the second wave waited for the first" if len(waves) == 2 else "each wave waited for the one before"
    of_cpus = limit == reading.evidence.cpus and (reading.is_saturated or reading.wants_cpu)
    cpus = ", as many as there are CPUs" if of_cpus else ""
    return (
        f"{len(waves)} waves, {waves_sum(waves)}: {terms.server} works on {terms.requests(limit)} at once{cpus},"
        f" about {each} each; {then}"
    )


def _blurred(reading: Reading) -> str:
    fit, terms = reading.fit, reading.evidence.terms
    assert fit is not None
    low, high = fit.range_ns
    return (
        f"{terms.server} works on about {terms.requests(fit.limit)} at once; service times from {spoken_ms(low)} to"
        f" {spoken_ms(high)} are too unlike for waves to show, so this is from their completions"
    )


def _place(reading: Reading, held: Held | None, own: OwnFigures) -> str:
    """Where they waited, as far as it could be seen."""
    assert reading.fit is not None
    if not reading.evidence.terms.networked:
        return ""
    if held is None:
        if own.is_inside:
            return ""
        return (
            f" (or it accepts no more than {reading.fit.limit:,} connections at once:"
            " the length of its accept queue during the run would tell)"
        )
    if held.part > NOT_IN_QUEUE:
        why = f"for it accepts about {counted(held.accepted, 'connection')} at once"
        if not held.is_steady:
            why = "from which they were taken bit by bit: it may only have been late in accepting"
        return f" ({held.part:.0%} of the waiting stood in its accept queue, {why})"
    return ""
