"""Samples and evidence -> Findings: why the numbers are what they are. One cause a module.

    finding   the value: cause, requests, sentence, evidence
    client    the generator was the bottleneck

A wrong reason is worse than none.
"""

from __future__ import annotations

from loadgen.explain import client
from loadgen.explain.finding import Finding
from loadgen.summary import Summary
from loadgen.watch import ClientUse

__all__ = ["Finding", "explain"]


def explain(summary: Summary, use: ClientUse) -> tuple[Finding, ...]:
    """The findings of one run, the one that puts the others in doubt first."""
    return tuple(finding for finding in (client.find(summary, use),) if finding is not None)
