"""A run's findings against what must be found in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from loadgen.explain import CAUSES, Evidence, Finding, explain
from tests.truth.cases import CAUSES_OF_LIMIT, Case, Expected

_STALL_SLACK_MS: Final = 30.0
_ALONE: Final = ("timeout", "shed")
"""Whoever is in one of these neither waited for a place nor ran side by side with the others."""
_SHAPES: Final = ("serial", "concurrency-limit", "connection-limit", "cpu-shared", "overlapped")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, and what is wrong with it."""

    case: Case
    findings: tuple[Finding, ...]
    wrong: tuple[str, ...]
    """Each a reason; empty where the right causes were named."""
    broken: tuple[str, ...]
    """What holds for all findings of any run, and does not here; part of `wrong`."""
    limit_error: float | None
    """The limit told, less the true one, as a part of it; None where no limit had to be told or none was."""
    limit_right: bool | None

    @property
    def found(self) -> str:
        """The causes found, as the confusion matrix names them."""
        return " + ".join(sorted(finding.cause for finding in self.findings)) or "nothing"

    @property
    def tells_limit(self) -> bool:
        """Whether a limit on places or connections was named."""
        return any(finding.cause in CAUSES_OF_LIMIT for finding in self.findings)


def judge(case: Case) -> Verdict:
    """Explains the run and holds the findings against the truth."""
    findings = explain(case.evidence)
    broken = tuple(_broken_rules(case.evidence, findings))
    wrong = (*_wrong_causes(case.expected, findings), *_wrong_details(case.expected, findings), *broken)
    told, expected = told_limit(findings), case.expected
    error = right = None
    if expected.limit is not None:
        right = told is not None and abs(told - expected.limit) <= max(1, expected.within * expected.limit)
        error = None if told is None else (told - expected.limit) / expected.limit
    return Verdict(case, findings, wrong, broken, error, right)


def told_limit(findings: Sequence[Finding]) -> int | None:
    """The limit that the findings name: of the shape, or of what sheds where there is none."""
    for causes in (CAUSES_OF_LIMIT, ("shed",)):
        for finding in findings:
            if finding.cause in causes and "limit" in finding.details:
                return int(finding.details["limit"])
    return None


def _wrong_causes(expected: Expected, findings: Sequence[Finding]) -> Iterator[str]:
    found = {finding.cause for finding in findings}
    for group in expected.must:
        if len(group & found) != 1:
            yield f"not found: {'|'.join(sorted(group))}"
    known = expected.may.union(*expected.must)
    for cause in sorted(found - known):
        yield f"not so: {cause}"


def _wrong_details(expected: Expected, findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        count = expected.counts.get(finding.cause)
        if count is not None and finding.requests != count:
            yield f"{finding.cause}: {finding.requests} requests, truly {count}"
        if finding.cause == "stall" and not expected.blind and not _is_true_stall(expected, finding):
            yield f"stall at {finding.evidence['stretches_ms']}"
    for finding in findings:
        if expected.few and finding.cause == "overlapped" and "too few" not in finding.sentence:
            yield "overlapped without a word of too few"
        if expected.blind and finding.cause in (*CAUSES_OF_LIMIT, "stall") and "TCP_INFO" not in finding.sentence:
            yield f"{finding.cause} without a word of TCP_INFO"
    if expected.doubt and not any(expected.doubt in finding.sentence for finding in findings):
        yield f"no word of {expected.doubt!r}"


def _is_true_stall(expected: Expected, finding: Finding) -> bool:
    true = [(1e3 * stall.begin_s, 1e3 * stall.end_s) for stall in expected.stalls]
    return all(
        any(begin < late + _STALL_SLACK_MS and end > early for early, late in true)
        for begin, end in finding.evidence["stretches_ms"]
    )


def _broken_rules(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[str]:
    """What holds for all findings of any run."""
    requests = len(evidence.samples)
    for finding in findings:
        sentence = finding.sentence
        if finding.cause not in CAUSES:
            yield f"no such cause: {finding.cause}"
        if not sentence.endswith(".") or "nan" in sentence.split() or "inf" in sentence.split():
            yield f"sentence: {sentence}"
        if not 0 < finding.requests <= requests:
            yield f"{finding.cause} of {finding.requests} requests"
    causes = [finding.cause for finding in findings]
    if len(set(causes)) != len(causes):
        yield f"twice: {causes}"
    if sum(finding.cause in _SHAPES for finding in findings) > 1:
        yield f"shapes exclude each other: {causes}"
    if sum(finding.requests for finding in findings if finding.cause in (*_ALONE, *_SHAPES)) > requests:
        yield "requests counted twice"
