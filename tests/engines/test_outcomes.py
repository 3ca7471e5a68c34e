"""Which outcome, status and stages each behaviour of a server gives, on each engine.

`CASES` is what the wire engine must say. Where a client library cannot tell, `KNOWN` says what it says instead, and
why.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from loadgen.outcome import Outcome
from loadgen.samples import MISSING
from tests.engines.harness import fire, outcomes
from tests.engines.misbehave import MisbehavingServer
from tests.engines.serving import FullListener, ResettingListener, closed_port

SHORT_S = 0.6
"""The limit where it will run out; long enough for a connection on a busy machine."""


@dataclass(frozen=True, slots=True)
class Case:
    path: str
    outcome: Outcome
    status: int = MISSING
    first_byte: bool = True
    """Whether a byte of the response arrives."""
    timeout_s: float = 10.0
    method: str = "GET"


CASES = [
    *(
        Case(f"/{path}", Outcome.OK, 200)
        for path in (
            "ok", "slow?ms=20", "pieces", "chunked", "chunked-trailers", "close-delimited", "http10",
            "connection-close", "100-continue-then-200", "103-then-200", "head", "not-gzip", "set-cookie",
        )
    ),
    Case("/204", Outcome.OK, 204),
    Case("/304", Outcome.OK, 304),
    Case("/redirect", Outcome.OK, 302),
    Case("/head", Outcome.OK, 200, method="HEAD"),
    Case("/status/399", Outcome.OK, 399),
    Case("/status/400", Outcome.HTTP_4XX, 400),
    Case("/status/404", Outcome.HTTP_4XX, 404),
    Case("/status/500", Outcome.HTTP_5XX, 500),
    Case("/status/503", Outcome.HTTP_5XX, 503),
    Case("/never", Outcome.TIMEOUT, first_byte=False, timeout_s=SHORT_S),
    Case("/trickle", Outcome.TIMEOUT, 200, timeout_s=SHORT_S),
    Case("/trickle-head", Outcome.TIMEOUT, timeout_s=SHORT_S),
    Case("/endless-body", Outcome.TIMEOUT, 200, timeout_s=SHORT_S),
    Case("/endless-chunks", Outcome.TIMEOUT, 200, timeout_s=SHORT_S),
    Case("/reset", Outcome.RESET, first_byte=False),
    Case("/reset-in-body", Outcome.RESET, 200),
    Case("/close", Outcome.CLOSED, first_byte=False),
    Case("/close-in-head", Outcome.CLOSED),
    Case("/garbage", Outcome.PROTOCOL),
    Case("/bad-status-line", Outcome.PROTOCOL),
    Case("/bad-header", Outcome.PROTOCOL),
    Case("/two-lengths", Outcome.PROTOCOL),
    Case("/bad-length", Outcome.PROTOCOL),
    Case("/no-end-of-head", Outcome.PROTOCOL),
    Case("/endless-header-line", Outcome.PROTOCOL),
    Case("/huge-header", Outcome.PROTOCOL),
    Case("/bad-chunk-size", Outcome.PROTOCOL, 200),
    Case("/short-chunks", Outcome.PROTOCOL, 200),
    Case("/no-last-chunk", Outcome.PROTOCOL, 200),
    Case("/short-body", Outcome.PROTOCOL, 200),
    Case("/extra-bytes", Outcome.PROTOCOL, 200),
]  # fmt: skip

Known = tuple[Outcome, int, str]
_ONE_READ = "aiohttp refuses a whole read: a fault in it hides the head that came with it"
KNOWN: dict[tuple[str, str], Known] = {
    ("aiohttp", "/bad-chunk-size"): (Outcome.PROTOCOL, MISSING, _ONE_READ),
    ("aiohttp", "/extra-bytes"): (Outcome.PROTOCOL, MISSING, _ONE_READ),
    ("httpx", "/extra-bytes"): (Outcome.OK, 200, "h11 keeps what follows a response, and httpcore does not ask for it"),
}
"""(engine, path) -> outcome, status, reason."""

SEES_PARTIAL_HEADS = {"wire": True, "aiohttp": False, "httpx": True}
"""Whether `first_byte` is that of the head, and not its end. aiohttp has no hook before the whole head is parsed."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method}{case.path}")
def test_each_behaviour_has_its_outcome(engine: str, server: MisbehavingServer, case: Case) -> None:
    # A flood takes all the CPU that server and client have in this one process: a second would starve.
    n = 1 if case.path.startswith("/endless") else 3
    samples = fire(engine, server.url(case.path), n, timeout_s=case.timeout_s, method=case.method)

    outcome, status, _why = KNOWN.get((engine, case.path), (case.outcome, case.status, ""))
    assert outcomes(samples) == {outcome.label: n}
    assert samples.status.tolist() == [status] * n
    assert (samples.connected != MISSING).all()
    assert (samples.reused == 0).all()
    is_seen = case.first_byte and (SEES_PARTIAL_HEADS[engine] or status != MISSING)
    assert ((samples.first_byte != MISSING) == is_seen).all()
    assert ((samples.bytes_in > 0) == is_seen).all()
    assert len(server.received) == n


def test_no_listener_is_refused(engine: str) -> None:
    samples = fire(engine, f"http://127.0.0.1:{closed_port()}/", 5)

    assert outcomes(samples) == {"refused": 5}
    for column in (samples.connected, samples.first_byte, samples.status):
        assert (column == MISSING).all()
    assert (samples.bytes_in == 0).all()


@pytest.mark.skipif(sys.platform != "linux", reason="a full accept queue drops SYNs on Linux; others reset or accept")
@pytest.mark.parametrize(("timeout_s", "connect_timeout_s"), [(SHORT_S, None), (10.0, SHORT_S)])
def test_a_connection_that_is_not_made_in_time_is_a_connect_timeout(
    engine: str, timeout_s: float, connect_timeout_s: float | None
) -> None:
    with FullListener() as listener:
        url = f"http://127.0.0.1:{listener.port}/"
        samples = fire(engine, url, 3, timeout_s=timeout_s, connect_timeout_s=connect_timeout_s)

    assert outcomes(samples) == {"connect-timeout": 3}
    assert (samples.connected == MISSING).all()
    assert (samples.done >= SHORT_S * 1e9 * 0.9).all()
    assert (samples.done < 5e9).all()


def test_the_connect_timeout_does_not_bound_the_answer(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=900"), 2, connect_timeout_s=SHORT_S)

    assert outcomes(samples) == {"ok": 2}


def test_mixed_ends_are_all_counted(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/kill-after?k=3"), 40, 4)

    assert sum(outcomes(samples).values()) == 40
    assert set(outcomes(samples)) == {"ok", "stale"}


def test_a_connection_reset_as_soon_as_it_is_accepted_is_reset(engine: str) -> None:
    with ResettingListener() as listener:
        samples = fire(engine, f"http://127.0.0.1:{listener.port}/", 100, concurrency=10, timeout_s=10)
    # How far a request comes before it is reset is a matter of microseconds.
    assert set(outcomes(samples)) <= {"reset", "refused", "stale", "closed"}
    assert sum(outcomes(samples).values()) == 100


def test_a_header_need_not_be_ascii(engine: str, server: MisbehavingServer) -> None:
    assert outcomes(fire(engine, server.url("/ok"), 2, headers=(("X-Name", "é"),))) == {"ok": 2}
