"""One run as it was measured, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from loadgen.distribute.crew import Skew
from loadgen.explain import Evidence, Finding, explain
from loadgen.objective import Objective, Verdict
from loadgen.resources.seen import Resources
from loadgen.samples import Samples
from loadgen.summary import Summary
from loadgen.tally import Tally
from loadgen.watch import ClientUse

WARMUP: Final = 0
"""The number of a run that is not counted."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run as it was measured, and what follows from it."""

    number: int
    """From 1; WARMUP for one that is not counted."""
    address: str
    """Where the requests went, such as 127.0.0.1:8080; the name alone where it could not be resolved."""
    evidence: Evidence
    """The samples, and what was seen beside them."""
    summary: Summary
    findings: tuple[Finding, ...]
    interrupted: bool
    """Whether a signal ended it; requests without an outcome are cancelled then."""
    skew: Skew | None = None
    """How far the workers of a cluster were from one moment; None where there was no cluster."""
    resources: Resources | None = None
    """What the server and the generator took meanwhile; None where that was not looked at, or not to be seen."""

    @property
    def samples(self) -> Samples:
        """One row a request."""
        return self.evidence.samples

    @property
    def use(self) -> ClientUse:
        """What the generator used."""
        return self.evidence.use

    @property
    def tally(self) -> Tally | None:
        """What was counted, where the run was too long for its rows to be kept: `samples` are the last of them."""
        return self.evidence.tally

    def explained_beside(self, lone_ns: int, lone_cpu_s: float | None = None) -> Run:
        """The same run, explained again with the response time, and the server's CPU time, of a request sent alone.

        One alone takes no longer than the quickest of the run: where it did, it was disturbed.
        """
        if self.summary.times is not None:
            lone_ns = min(lone_ns, self.summary.times.min_ns)
        server = replace(self.evidence.server, lone_ns=lone_ns, lone_cpu_s=lone_cpu_s)
        evidence = replace(self.evidence, server=server)
        return replace(self, evidence=evidence, findings=explain(evidence))

    @property
    def trusted(self) -> bool:
        """Whether the server, and not the generator, set the numbers."""
        return all(finding.cause != "client" for finding in self.findings)

    def verdicts(self, objectives: Sequence[Objective]) -> list[Verdict]:
        """How it stands to objectives; none where it was interrupted, for then its figures are those of a part."""
        return [] if self.interrupted else [each.judge(self.summary, self.trusted) for each in objectives]


TakeRows = Callable[[int, Samples], None]
"""Takes rows of the run with that number."""
