"""Samples and evidence -> Findings: why the numbers are what they are.

    evidence     what may be looked at
    rows         what became of each request: timed out, shed, resent, served; when it arrived
    cpu          what the server's CPU did, and whether others took it
    reading      what is derived from all, for all causes: the server's places, and who waited for one
    by_target    whether times go by target, where there are several
    queueing     from arrivals and completions to the number of places
    tandem       waits side by side, and after them one at a time
    seen         the same where it was seen when the work on each began
    shape        which of the five causes holds that exclude each other
    backlog, open_fit, open_load   the same of an open run: whether completions kept up with arrivals
    own_figures  where the server's own figures (Server-Timing) put the waiting
    finding      the value, and the closed list of causes
    long_run     what the last rows of a run tell, and what was counted of all
    words        numbers in sentences

and one module a cause. Each is a pure function from a Reading to a Finding, or none. A wrong reason is worse than none:
what cannot be told apart from what was seen is said to be so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loadgen.explain import (
    accept_queue,
    client,
    concurrency_limit,
    connection_limit,
    cpu_shared,
    long_run,
    open_load,
    overlapped,
    serial,
    shed,
    stall,
    timeout,
    unexplained,
)
from loadgen.explain.evidence import Evidence, KernelRules, ServerView
from loadgen.explain.finding import CAUSES, Finding
from loadgen.explain.reading import Reading
from loadgen.explain.shape import shape_of

__all__ = ["CAUSES", "Evidence", "Finding", "KernelRules", "ServerView", "explain"]

_ANY: Final[tuple[Callable[[Reading], Finding | None], ...]] = (
    client.find,
    timeout.find,
    shed.find,
    accept_queue.find,
    stall.find,
)
_SHAPES: Final[dict[str, Callable[[Reading], Finding]]] = {
    "serial": serial.find,
    "concurrency-limit": concurrency_limit.find,
    "connection-limit": connection_limit.find,
    "cpu-shared": cpu_shared.find,
    "overlapped": overlapped.find,
}


def explain(evidence: Evidence) -> tuple[Finding, ...]:
    """The findings of one run, in the order of CAUSES."""
    reading = Reading(evidence)
    findings = [finding for find in _ANY if (finding := find(reading)) is not None]
    shape = shape_of(reading)
    # What was shed is no evidence that the rest met no limit.
    if shape is not None and not (shape == "overlapped" and reading.shed.any()):
        findings.append(_SHAPES[shape](reading))
    if evidence.is_open and (found := open_load.find(reading)) is not None:
        findings.append(found)
        shape = found.cause
    # Nor is the server slow where the generator was.
    generator = any(finding.cause == "client" for finding in findings)
    told = shape == "unexplained"
    if not generator and not told and (left := unexplained.find(reading, shape)) is not None:
        findings.append(left)
    if evidence.tally is not None:
        findings = list(long_run.findings_of(evidence.tally, findings, len(evidence.samples)))
    return tuple(sorted(findings, key=lambda finding: CAUSES.index(finding.cause)))
