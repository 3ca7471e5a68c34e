"""Connections that a server does not take up, told from those that it takes up late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loadgen.explain import Evidence, Finding, ServerView, explain
from loadgen.explain.runs import limited_by
from loadgen.samples import Samples
from tests.loadgen.make import Row, ok_rows, samples_of

MS = 1_000_000
USERS = 64
TAKEN = 24
TURNS = 60
SERVICE_MS = 5


def users_of_whom_some_wait(released_ms: float) -> Samples:
    """TAKEN of USERS are served turn after turn; the connections of the others are taken up at `released_ms`."""
    last_begun = TURNS * SERVICE_MS
    first = [row(0, SERVICE_MS) if user < TAKEN else row(0, released_ms + SERVICE_MS) for user in range(USERS)]
    later = [
        row(begun, begun + SERVICE_MS, reused=1)
        for begun in range(SERVICE_MS, last_begun + 1, SERVICE_MS)
        for _ in range(TAKEN)
    ]
    return samples_of(first + later)


def row(begun_ms: float, done_ms: float, reused: int = 0) -> Row:
    begun, done = round(begun_ms * MS), round(done_ms * MS)
    return {"due": begun, "begun": begun, "connected": -1 if reused else begun, "done": done, "reused": reused}


def looks(lengths: list[int]) -> ServerView:
    """The accept queue, looked at this often at even distances while the users went on."""
    step = TURNS * SERVICE_MS * MS // len(lengths)
    queue = tuple((step * at + MS, length) for at, length in enumerate(lengths))
    return ServerView(queue=queue, accept_queue_limit=4096)


def findings_of(released_ms: float, server: ServerView, service_ms: int = SERVICE_MS) -> tuple[Finding, ...]:
    samples = users_of_whom_some_wait(released_ms)
    factor = service_ms // SERVICE_MS
    columns = {name: getattr(samples, name) * factor for name in ("due", "begun", "done")}
    return explain(Evidence(replace(samples, **columns), concurrency=USERS, server=server))


AT_THE_END_MS = TURNS * SERVICE_MS + SERVICE_MS
"""When the others have nothing left to send, and close."""
HELD = looks([USERS - TAKEN] * 12)


@pytest.mark.parametrize(
    ("released_ms", "server", "service_ms", "starved"),
    [
        (AT_THE_END_MS, HELD, SERVICE_MS, True),
        (TURNS * SERVICE_MS * 0.5, HELD, SERVICE_MS, False),  # while they still went on
        (AT_THE_END_MS, looks([40, 30, 20, 10, 0, 0, 0, 0, 0, 0, 0, 0]), SERVICE_MS, False),  # held at first only
        (AT_THE_END_MS, looks([0] * 12), SERVICE_MS, False),  # they were accepted, and served late
        (AT_THE_END_MS, looks([40]), SERVICE_MS, False),  # one look tells nothing
        (AT_THE_END_MS, ServerView(), SERVICE_MS, False),  # 0.3 s: a busy machine's server is late for as long
        (AT_THE_END_MS, ServerView(), 20 * SERVICE_MS, True),  # 6 s
    ],
)
def test_only_connections_held_until_others_close_are_a_connection_limit(
    released_ms: float, server: ServerView, service_ms: int, starved: bool
) -> None:
    findings = findings_of(released_ms, server, service_ms)
    limits = [finding.details["limit"] for finding in findings if finding.cause == "connection-limit"]
    assert limits == ([TAKEN] if starved else [])


def test_connections_that_may_only_have_been_taken_up_late_are_told_as_that() -> None:
    (finding,) = findings_of(AT_THE_END_MS, ServerView())
    assert finding.cause == "overlapped"
    assert "40 connections had to stand until others were closed, as before a server that is late" in finding.sentence


def burst_at(accepted: list[int]) -> tuple[Finding, ...]:
    """100 requests of 1 s to a server that was seen to have so many connections accepted, while 50 of them waited."""
    times = [1_000.0] * 50 + [2_000.0] * 50
    at = np.linspace(300, 900, len(accepted))
    queue = tuple((round(ms * MS), 100 - taken) for ms, taken in zip(at.tolist(), accepted, strict=True))
    return explain(Evidence(samples_of(ok_rows(*times)), 100, server=ServerView(queue=queue)))


def test_a_server_that_accepts_bit_by_bit_has_no_connection_limit() -> None:
    (held,) = burst_at([50, 50, 50, 50])
    assert (held.cause, held.details["limit"]) == ("connection-limit", 50)
    (late,) = burst_at([10, 30, 60, 80])
    assert late.cause == "concurrency-limit"
    assert "may only have been late in accepting" in late.sentence


def test_runs_that_are_not_to_be_trusted_tell_no_limit() -> None:
    (limit,) = burst_at([50, 50, 50])
    client = Finding("client", 100, "the generator was the bottleneck.")
    assert limited_by([(client, limit)] * 2) == "not to be trusted in 2 of 2 runs"
    told = limited_by([(client, limit), (limit,), (limit,)])
    assert told.startswith("50 connections accepted at once")
    assert told.endswith("in 2 of 3 runs; not to be trusted in 1 of 3 runs")
