"""Cause `cpu-shared`: all slow together, because they share the CPU; time-sliced, not queued."""

from __future__ import annotations

from typing import Any

from loadgen.explain.evidence import count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.reading import Reading
from loadgen.explain.words import spoken_ms

_ADDS_UP: float = 0.5
"""A stretch under this part of (requests / cores) is not that of work that shares the CPU: they watched the clock."""

_ADDED_UP: float = 1.5


def find(reading: Reading) -> Finding:
    """The finding, for a reading whose shape it is."""
    evidence = reading.evidence
    cores = reading.server_cores
    if cores is None:
        return _by_stretch(reading)
    samples = evidence.samples
    wall_s = float(samples.done.max()) / 1e9
    served = count_of(reading.served)
    facts: dict[str, Any] = {
        "server_cores": round(cores, 2),
        "cpus": evidence.cpus,
        "completions_per_s": round(served / wall_s, 1),
        "in_order": round(reading.in_order, 2),
    }
    if evidence.server.peak_cpu_percent is not None:
        facts["peak_server_cores"] = round(evidence.server.peak_cpu_percent / 100, 2)
    lone_ns = evidence.server.lone_ns
    response_ns = reading.median_service_ns
    if lone_ns:
        facts |= {"lone_ms": milliseconds(lone_ns), "stretch": round(response_ns / lone_ns, 2)}
    busy = f"{evidence.terms.server} kept {cores:.1f} of {evidence.cpus} CPUs busy"
    return Finding(
        cause="cpu-shared",
        requests=served,
        sentence=f"{busy}: {_what(reading, response_ns, lone_ns, cores, served, wall_s)}.",
        evidence=facts,
        details={"service_ms": milliseconds(response_ns)},
    )


def _by_stretch(reading: Reading) -> Finding:
    """From the response times alone, where the server's CPU could not be seen."""
    lone_ns, response_ns = reading.evidence.server.lone_ns, reading.median_service_ns
    assert lone_ns
    served = count_of(reading.served)
    return Finding(
        cause="cpu-shared",
        requests=served,
        sentence=(
            f"all of {reading.evidence.terms.requests(reading.at_once)} ran side by side and slowed each other,"
            f" {spoken_ms(response_ns)} each where one alone takes {spoken_ms(lone_ns)}: they shared the CPU, or"
            " something else that is divided among them (the server's CPU time during the run would tell)."
        ),
        evidence={"lone_ms": milliseconds(lone_ns), "stretch": round(response_ns / lone_ns, 2)},
        details={"service_ms": milliseconds(response_ns)},
    )


def _what(reading: Reading, response_ns: float, lone_ns: int | None, cores: float, served: int, wall_s: float) -> str:
    at_once, terms = reading.at_once, reading.evidence.terms
    if reading.is_limited:
        return (
            f"{terms.request}s were worked through at {served / wall_s:,.0f} a second, as fast as {terms.bound} allows"
        )
    if not lone_ns:
        return (
            f"{terms.requests(at_once)} ran side by side and shared it, about {spoken_ms(response_ns)} each"
            f" ({terms.alone} would tell by how much they slowed each other)"
        )
    stretch = response_ns / lone_ns
    if stretch < _ADDS_UP * at_once / max(cores, 1.0):
        return (
            f"{terms.requests(at_once)} ran side by side, {spoken_ms(response_ns)} each where one alone takes"
            f" {spoken_ms(lone_ns)}; each only watched the clock, so this is not {at_once:,} times the work"
        )
    # More than the CPUs that it kept busy it cannot have gained: the one alone was disturbed then.
    factor = min(at_once / stretch, max(cores, 1.0))
    each = f"{spoken_ms(response_ns)} each where one alone takes {spoken_ms(lone_ns)}"
    return (
        f"{terms.requests(at_once)} shared it, {each}: side by side the work went {factor:.1f} times as fast as"
        f" one after another{', so threads did not add up' if factor < _ADDED_UP else ''}"
    )
