"""The suite over real servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from loadgen.explain import Finding
from loadgen.lone import send_alone
from loadgen.plan import Plan, Target, Workload
from loadgen.run import Run
from loadgen.runner import Session
from servers.catalog import parse_spec
from servers.process import start
from tests.truth.combinations import COMBINATIONS, PATIENT_S, Combination
from tests.truth.judge import told_limit

RUNS: Final = 3
# What the generator says of itself is held against its own figures, not against the server.
_OF_THE_GENERATOR: Final = frozenset({"client"})


@dataclass(frozen=True, slots=True)
class Tried:
    """One run at a real server, and what is wrong with its findings."""

    combination: Combination
    findings: tuple[Finding, ...]
    wrong: tuple[str, ...]
    limit: int | None
    service_ms: float | None

    @property
    def found(self) -> str:
        """The causes found."""
        return " + ".join(sorted(finding.cause for finding in self.findings)) or "nothing"


def tried(combination: Combination, runs: int = RUNS) -> Iterator[Tried]:
    """The server started, and fired at so many times."""
    if combination.timeout_s < PATIENT_S and runs > 1:
        # What was given up is worked on nevertheless, and would stand in the way of the next run.
        for _ in range(runs):
            yield from tried(combination, runs=1)
        return
    instance = parse_spec(combination.spec)
    with start(instance) as server:
        plan = _plan(server.url, combination)
        lone = send_alone(plan) if combination.lone else None
        with Session(plan) as session:
            for number in range(1, runs + 1):
                run = session.run(number)
                yield _judged(combination, run if lone is None else run.explained_beside(lone.response_ns, lone.cpu_s))


def combinations(*, short: bool) -> tuple[Combination, ...]:
    """All of them, or those of the short form."""
    return tuple(combination for combination in COMBINATIONS if combination.short or not short)


def _plan(url: str, combination: Combination) -> Plan:
    return Plan(
        target=Target.parse(url + combination.path),
        workload=Workload(
            requests=combination.requests,
            concurrency=combination.users or combination.requests,
            keepalive=combination.keepalive,
            timeout_s=combination.timeout_s,
        ),
    )


def _judged(combination: Combination, run: Run) -> Tried:
    found = {finding.cause for finding in run.findings}
    wrong = [f"not found: {'|'.join(sorted(group))}" for group in combination.must if len(group & found) != 1]
    known = combination.may.union(*combination.must, _OF_THE_GENERATOR)
    wrong += [f"not so: {cause}" for cause in sorted(found - known)]
    limit = told_limit(run.findings)
    # A run of which the generator itself says that its numbers are not to be trusted has no number to be right.
    if combination.limit is not None and "client" not in found:
        allowed = max(1, combination.within * combination.limit)
        if limit is None or abs(limit - combination.limit) > allowed:
            wrong.append(f"limit {limit}, truly {combination.limit}")
    services = [finding.details["service_ms"] for finding in run.findings if "service_ms" in finding.details]
    return Tried(combination, run.findings, tuple(wrong), limit, services[0] if services else None)
