"""Bursts, keep-alive, stale connections, cancellation: how each engine uses connections."""

from __future__ import annotations

import asyncio
import os
import sys

import numpy as np
import pytest

from loadgen.errors import UsageError
from loadgen.outcome import Outcome
from loadgen.samples import MISSING
from tests.engines.harness import fire, outcomes
from tests.engines.misbehave import MisbehavingServer
from tests.engines.serving import FullListener

LIBRARIES = ("aiohttp", "httpx")


def test_a_burst_has_a_fresh_connection_for_each_request(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/ok"), 50)

    assert outcomes(samples) == {"ok": 50}
    assert server.accepted == 50
    assert samples.reused.sum() == 0
    assert all(request.headers("Connection") == ["close"] for request in server.received)


def test_a_burst_does_not_reuse_connections_that_the_user_keeps_alive(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/ok"), 50, headers=(("Connection", "keep-alive"),))

    assert outcomes(samples) == {"ok": 50}
    assert server.accepted == 50
    assert all(request.headers("Connection") == ["keep-alive"] for request in server.received)


def test_a_burst_is_released_at_once(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=1500"), 100)

    assert outcomes(samples) == {"ok": 100}
    assert samples.begun.max() < samples.done.min()


def test_a_thousand_at_once(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/ok"), 1000, timeout_s=50)

    assert outcomes(samples) == {"ok": 1000}
    assert server.accepted == 1000


def test_below_a_burst_connections_are_used_again(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=5"), 60, 8)

    assert outcomes(samples) == {"ok": 60}
    assert server.accepted == 8
    assert samples.reused.sum() == 52
    assert (samples.connected[samples.reused == 1] == MISSING).all()
    assert all(request.headers("Connection") == [] for request in server.received)


def test_no_more_are_in_flight_than_asked(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=5"), 40, 4)

    ends = np.sort(samples.done)
    assert (np.sort(samples.begun)[4:] >= ends[:-4]).all()


def test_keepalive_off_opens_a_connection_for_each(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/ok"), 30, 5, keepalive=False)

    assert outcomes(samples) == {"ok": 30}
    assert server.accepted == 30
    assert samples.reused.sum() == 0


@pytest.mark.parametrize("path", ["/connection-close", "/http10", "/close-delimited"])
def test_a_server_that_closes_gets_a_fresh_connection(engine: str, server: MisbehavingServer, path: str) -> None:
    samples = fire(engine, server.url(path), 12, 3)

    assert outcomes(samples) == {"ok": 12}
    assert server.accepted == 12
    assert samples.reused.sum() == 0


@pytest.mark.parametrize("path", ["/stale", "/stale-reset"])
def test_a_dead_kept_connection_is_stale_and_not_tried_again(engine: str, server: MisbehavingServer, path: str) -> None:
    samples = fire(engine, server.url(path), 10, 1)

    assert samples.outcome.tolist() == [Outcome.OK, Outcome.STALE] * 5
    assert samples.reused.tolist() == [0, 1] * 5
    assert len(server.received) == 10
    stale = samples.outcome == Outcome.STALE
    assert (samples.status[stale] == MISSING).all()
    assert (samples.first_byte[stale] == MISSING).all()


def test_a_connection_closed_while_idle_is_stale_or_replaced(engine: str, server: MisbehavingServer) -> None:
    """Which of the two depends on whether the close is seen before the next request is written."""
    samples = fire(engine, server.url("/close-when-idle"), 20, 1)

    assert set(outcomes(samples)) <= {"ok", "stale"}
    assert (samples.reused[samples.outcome == Outcome.STALE] == 1).all()
    assert (samples.reused[samples.ok] == 0).all()


def test_a_post_is_not_tried_again_either(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/stale"), 4, 1, method="POST", body=b"once")

    assert samples.outcome.tolist() == [Outcome.OK, Outcome.STALE] * 2
    assert [request.body for request in server.received] == [b"once"] * 4


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_INFO is read on Linux only")
@pytest.mark.parametrize("concurrency", [20, 4])
def test_nothing_is_resent_on_loopback(engine: str, server: MisbehavingServer, concurrency: int) -> None:
    samples = fire(engine, server.url("/ok"), 20, concurrency)

    assert (samples.resent == 0).all()


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_INFO is read on Linux only")
def test_resent_is_seen_where_an_answer_never_comes(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/never"), 3, timeout_s=0.5)

    assert (samples.resent == 0).all()


def test_ipv6(engine: str) -> None:
    with MisbehavingServer(host="::1") as server:
        samples = fire(engine, server.url("/ok"), 5)

    assert outcomes(samples) == {"ok": 5}
    assert server.received[0].headers("Host") == [f"[::1]:{server.port}"]


def test_plain_asyncio_does_as_well(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/ok"), 20, 4, new_loop=asyncio.new_event_loop)

    assert outcomes(samples) == {"ok": 20}
    assert samples.reused.sum() == 16


def test_cancellation_leaves_rows_cancelled_and_no_connection(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/never"), 30, 10, cancel_after=lambda: server.wait_until_received(10))

    assert outcomes(samples) == {"cancelled": 30}
    assert (samples.begun != MISSING).sum() == 10
    assert (samples.done != MISSING).sum() == 10
    server.wait_until_all_closed()


def test_cancellation_keeps_what_was_measured(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/slow?ms=20"), 5000, 2, cancel_after=lambda: server.wait_until_received(20))

    assert set(outcomes(samples)) == {"ok", "cancelled"}
    assert samples.ok.sum() >= 18
    server.wait_until_all_closed()


@pytest.mark.skipif(sys.platform != "linux", reason="a full accept queue drops SYNs on Linux; others reset or accept")
def test_cancellation_while_connecting(engine: str) -> None:
    with FullListener() as listener:
        samples = fire(engine, f"http://127.0.0.1:{listener.port}/", 5, cancel_after=lambda: None)

    assert outcomes(samples) == {"cancelled": 5}


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_a_run_leaves_no_descriptor_behind(engine: str) -> None:
    before = 0
    for _ in range(2):  # the first time, libraries may open what they keep
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  (a Path for each costs a descriptor of its own)
        with MisbehavingServer() as server:
            for path in ("/ok", "/close", "/reset", "/garbage", "/short-body", "/never"):
                fire(engine, server.url(path), 10, 5, timeout_s=0.3)

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_run_does_not_outlive_its_timeout(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, server.url("/trickle"), 50, timeout_s=0.5)

    assert outcomes(samples) == {"timeout": 50}
    assert (samples.response_ns >= 0.5e9 * 0.9).all()
    assert samples.done.max() < 5e9


@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit as Linux has it")
def test_too_few_descriptors_is_the_client(engine: str, server: MisbehavingServer) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken + 60, hard))
    try:
        # The server takes descriptors of the same process; it never answers, so that none comes back.
        samples = fire(engine, server.url("/never"), 200, timeout_s=1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert Outcome.CLIENT in samples.outcome
    assert set(outcomes(samples)) <= {"client", "timeout"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_preconnect_is_for_the_wire_engine(library: str, server: MisbehavingServer) -> None:
    with pytest.raises(UsageError, match=r"^--preconnect needs the wire engine$"):
        fire(library, server.url("/ok"), 2, preconnect=True)
