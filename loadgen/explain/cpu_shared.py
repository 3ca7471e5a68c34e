"""Cause `cpu-shared`: all slow together, because they share the CPU; time-sliced, not queued."""

from __future__ import annotations

from typing import Any, Final

from loadgen.explain.evidence import count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.reading import LEAST_SERVICE_NS, Reading
from loadgen.explain.words import spoken_ms

_WATCHED: Final = 0.7
"""Of the CPU time of one alone; who took less for the same did no fixed amount of work, but watched the clock."""
_BEYOND_CPU: Final = 1.25
"""Times the CPUs that were kept busy; work that is computed all along cannot have gone that much faster."""
_ADDED_UP: Final = 1.5
_NEARLY_ONE: Final = 0.8
"""CPUs; so much of one is all that one interpreter lock, or one event loop, can use."""


def find(reading: Reading) -> Finding:
    """The finding, for a reading whose shape it is."""
    evidence = reading.evidence
    cores = reading.server_cores
    if cores is None:
        return _by_stretch(reading)
    served = count_of(reading.served)
    facts: dict[str, Any] = {
        "server_cores": round(cores, 2),
        "cpus": evidence.cpus,
        "completions_per_s": round(served / reading.wall_s, 1),
        "in_order": round(reading.in_order, 2),
    }
    if evidence.server.peak_cpu_percent is not None:
        facts["peak_server_cores"] = round(evidence.server.peak_cpu_percent / 100, 2)
    if evidence.server.cpu_wait_s is not None:
        facts["cpu_wait_s"] = round(evidence.server.cpu_wait_s, 3)
    lone_ns, lone_cpu_s = evidence.server.lone_ns, evidence.server.lone_cpu_s
    response_ns = reading.median_service_ns
    if lone_ns:
        facts |= {"lone_ms": milliseconds(lone_ns), "stretch": round(response_ns / lone_ns, 2)}
    if lone_cpu_s is not None:
        facts["lone_cpu_ms"] = milliseconds(1e9 * lone_cpu_s)
    return Finding(
        cause="cpu-shared",
        requests=served,
        sentence=f"{busy_clause(reading, cores)}: {_what(reading, response_ns, lone_ns, cores, served)}.",
        evidence=facts,
        details={"service_ms": milliseconds(response_ns)},
    )


def busy_clause(reading: Reading, cores: float) -> str:
    """How many CPUs the server kept busy, and whether others took what it wanted."""
    terms = reading.evidence.terms
    more = ", and would have used more, but other processes took the CPU" if reading.is_deprived else ""
    return f"{terms.server} kept {cores:.1f} of {reading.evidence.cpus} CPUs busy{more}"


def bound_clause(reading: Reading, cores: float) -> str:
    """What set the pace; empty where the CPU was neither all used nor taken by others."""
    if reading.is_deprived:
        return ", as fast as what others left of the CPU allows"
    return f", as fast as {reading.evidence.terms.bound} allows" if cores >= _NEARLY_ONE else ""


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


def _what(reading: Reading, response_ns: float, lone_ns: int | None, cores: float, served: int) -> str:
    at_once, terms = reading.at_once, reading.evidence.terms
    if reading.is_limited or response_ns < LEAST_SERVICE_NS:
        pace = f"{terms.request}s were worked through at {served / reading.wall_s:,.0f} a second"
        return f"{pace}{bound_clause(reading, cores)}"
    if not lone_ns:
        return (
            f"{terms.requests(at_once)} ran side by side and shared it, about {spoken_ms(response_ns)} each"
            f" ({terms.alone} would tell by how much they slowed each other)"
        )
    each = f"{spoken_ms(response_ns)} each where one alone takes {spoken_ms(lone_ns)}"
    if _watched_the_clock(reading, served):
        return (
            f"{terms.requests(at_once)} ran side by side, {each}; each only watched the clock,"
            f" so this is not {at_once:,} times the work"
        )
    factor = served * lone_ns / 1e9 / reading.wall_s
    if factor > _BEYOND_CPU * max(cores, 1.0):
        return f"{terms.requests(at_once)} ran side by side, {each}, so they did not compute all of that time"
    added = ", so threads did not add up" if factor < _ADDED_UP and not reading.is_deprived else ""
    return (
        f"{terms.requests(at_once)} shared it, {each}: side by side the work went {factor:.1f} times as fast as"
        f" one after another{added}"
    )


def _watched_the_clock(reading: Reading, served: int) -> bool:
    """Whether one alone keeps the CPU busy, and together each took clearly less of it: no fixed amount of work does."""
    server = reading.evidence.server
    if server.cpu_s is None or server.lone_cpu_s is None or reading.waits_alone:
        return False
    return server.cpu_s < _WATCHED * served * server.lone_cpu_s
