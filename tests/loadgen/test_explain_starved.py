"""Connections that a server does not take up, told from those that it takes up late."""

from __future__ import annotations

import pytest

from loadgen.explain import Evidence, explain
from loadgen.samples import Samples
from tests.loadgen.make import Row, samples_of

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


@pytest.mark.parametrize(
    ("released_ms", "starved"),
    [
        (TURNS * SERVICE_MS + SERVICE_MS, True),  # when the others have nothing left to send, and close
        (TURNS * SERVICE_MS * 0.5, False),  # while they still went on
    ],
)
def test_only_connections_left_until_others_close_are_a_connection_limit(released_ms: float, starved: bool) -> None:
    findings = explain(Evidence(users_of_whom_some_wait(released_ms), concurrency=USERS))
    limits = [finding.details["limit"] for finding in findings if finding.cause == "connection-limit"]
    assert limits == ([TAKEN] if starved else [])
