"""Findings where it was seen when the work on each began, as of an executor's tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadgen.explain import Evidence, explain
from loadgen.explain.words import Terms
from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Samples

MS = 1_000_000


def evidence_of(due_ms: list[int], started_ms: list[int], done_ms: list[int]) -> Evidence:
    n = len(due_ms)
    due, started, done = (np.array(column, dtype=np.int64) * MS for column in (due_ms, started_ms, done_ms))
    missing = np.full(n, MISSING, dtype=np.int64)
    none = np.zeros(n, dtype=np.int64)
    samples = Samples(
        due=due,
        begun=due,
        connected=missing,
        first_byte=missing,
        done=done,
        bytes_in=none,
        status=missing.astype(np.int16),
        outcome=np.full(n, Outcome.OK, dtype=np.int8),
        reused=none.astype(np.int8),
        resent=missing.astype(np.int16),
        target=none.astype(np.int16),
    )
    terms = Terms("the pool", "task", "a task alone", networked=False)
    return Evidence(samples, concurrency=n, started=started, terms=terms)


def test_limit_is_the_one_that_was_seen() -> None:
    starts = [100 * (i // 3) for i in range(7)]
    (finding,) = explain(evidence_of([0] * 7, starts, [start + 100 for start in starts]))
    assert (finding.cause, finding.requests, finding.details["waves"]) == ("concurrency-limit", 4, [3, 3, 1])
    assert finding.sentence == (
        "3 waves, 3 + 3 + 1: the pool works on 3 tasks at once, about 100 ms each; each wave waited for the one before."
    )


def test_last_one_alone_beyond_the_limit_is_seen() -> None:
    (finding,) = explain(evidence_of([0] * 101, [0] * 100 + [100], [100] * 100 + [200]))
    assert (finding.cause, finding.requests, finding.details["limit"]) == ("concurrency-limit", 1, 100)


def test_workers_that_are_slow_to_come_are_no_limit() -> None:
    """Processes that start 300 ms later, and one thread among many that was kept from running for a moment."""
    slow = evidence_of([0] * 8, [300] * 8, [400] * 8)
    assert [finding.cause for finding in explain(slow)] == ["overlapped"]
    due = [i // 10 for i in range(1000)]
    started = [*due]
    started[990] += 40
    held = evidence_of(due, started, [start + 100 for start in started])
    assert [finding.cause for finding in explain(held)] == ["overlapped"]


def test_without_network_nothing_is_said_of_the_generator_or_tcp() -> None:
    evidence = evidence_of(list(range(0, 400, 4)), list(range(0, 400, 4)), list(range(100, 500, 4)))
    assert [finding.cause for finding in explain(evidence)] == ["overlapped"]
    networked = replace(evidence, terms=Terms())
    assert "client" in {finding.cause for finding in explain(networked)}
