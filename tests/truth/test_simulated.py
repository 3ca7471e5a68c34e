"""The short form of the simulated suite; `make truth` makes all of its runs."""

from __future__ import annotations

import pytest

from loadgen.explain import CAUSES
from tests.truth.judge import Verdict
from tests.truth.simulated import FEW_REQUESTS, LIMIT_BAR, RIGHT_BAR, verdicts

PART = 0.11


@pytest.fixture(scope="module")
def judged() -> list[Verdict]:
    return verdicts(PART, most_requests=FEW_REQUESTS)


def test_the_causes_named_are_right(judged: list[Verdict]) -> None:
    wrong = [f"{verdict.case.kind} {verdict.case.seed}: {verdict.wrong}" for verdict in judged if verdict.wrong]
    assert len(wrong) <= (1 - RIGHT_BAR) * len(judged), "\n".join(wrong)


def test_the_limits_told_are_right(judged: list[Verdict]) -> None:
    limits = [verdict.limit_right for verdict in judged if verdict.limit_right is not None]
    assert sum(limits) >= LIMIT_BAR * len(limits)


def test_no_limit_is_told_where_all_waits_overlapped(judged: list[Verdict]) -> None:
    false = [verdict for verdict in judged if verdict.case.kind == "overlapped" and verdict.tells_limit]
    assert not false


def test_every_cause_is_met(judged: list[Verdict]) -> None:
    assert {finding.cause for verdict in judged for finding in verdict.findings} == set(CAUSES)


def test_what_holds_for_any_finding_holds(judged: list[Verdict]) -> None:
    assert not [(verdict.case.seed, verdict.broken) for verdict in judged if verdict.broken]
