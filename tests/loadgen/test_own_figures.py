"""What is said by the server's own figures, of servers whose places and pool are known."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from loadgen.explain import Evidence, Finding, explain
from loadgen.samples import MISSING, Samples
from tests.loadgen.make import samples_of

Floats = NDArray[np.float64]
RELEASE_MS = 0.01
LATENCY_MS = 0.5


@dataclass(frozen=True)
class Tandem:
    """A burst at a server with `threads` places in front of its handler and a pool of `pool` within it; ms."""

    requests: int
    threads: int
    pool: int
    work: Floats

    def times(self) -> tuple[Floats, Floats, Floats]:
        """How long each was before the handler, waited for the pool, and took in all."""
        threads, pool = [0.0] * self.threads, [0.0] * self.pool
        heapify(threads)
        heapify(pool)
        before, acquire, took = np.zeros((3, self.requests))
        for row in range(self.requests):
            arrival = RELEASE_MS * row
            entered = max(arrival, threads[0])
            begun = max(entered, pool[0])
            done = begun + self.work[row]
            heapreplace(threads, done)
            heapreplace(pool, done)
            before[row], acquire[row], took[row] = entered - arrival, begun - entered, done - arrival
        return before, acquire, took

    def samples(self, *, wait: str = "acquire", work: str | None = "work", total: str | None = None) -> Samples:
        """As a client sees it, with the server's figures under these names; None: it does not give that."""
        _, acquire, took = self.times()
        begun = np.round(RELEASE_MS * np.arange(self.requests) * 1e6).astype(int)
        rows = [
            {"due": at, "begun": at, "connected": at, "done": at + round((ms + LATENCY_MS) * 1e6)}
            for at, ms in zip(begun.tolist(), took.tolist(), strict=True)
        ]
        figures = {wait: acquire, work: self.work, total: acquire + self.work}
        columns = {name: np.round(ms * 1e6).astype(np.int64) for name, ms in figures.items() if name}
        return replace(samples_of(rows), server_timing=columns)


def tandem(requests: int, threads: int, pool: int, *, jitter: float = 0.0, seed: int = 0) -> Tandem:
    work = 100 * (1 + jitter * np.random.default_rng(seed).uniform(-1, 1, requests))
    return Tandem(requests, threads, pool, work)


def limit_finding(samples: Samples) -> Finding | None:
    found = explain(Evidence(samples, concurrency=len(samples)))
    return next((finding for finding in found if finding.cause in ("concurrency-limit", "serial")), None)


def says_inside(finding: Finding) -> bool:
    return "lies behind" in finding.sentence


def test_a_pool_behind_the_handler_is_named() -> None:
    finding = limit_finding(tandem(400, 400, 20).samples())
    assert finding is not None
    assert finding.sentence.endswith(
        "; by the server's own figures they waited in `acquire`, 100 ms to 1,896 ms, and spent about 100 ms in `work`:"
        " the limit of 20 lies behind `acquire`."
    )
    assert "accepts no more" not in finding.sentence
    figures = finding.evidence["server_timing"]
    assert figures["waited_in"] == "acquire"
    assert figures["work_ms"] == 100
    assert figures["outside_part"] < 0.05


def test_what_waits_before_the_handler_too_is_told_apart() -> None:
    finding = limit_finding(tandem(400, 200, 20).samples())
    assert finding is not None
    assert says_inside(finding)
    assert re.search(r"behind `acquire`; up to (99\d|1,00\d) ms were outside these figures", finding.sentence)


def test_a_limit_before_the_handler_is_said_to_be_outside_the_servers_figures() -> None:
    finding = limit_finding(tandem(400, 20, 50).samples())
    assert finding is not None
    assert not says_inside(finding)
    assert "figures account for about 100 ms of each: up to 1,89" in finding.sentence


@pytest.mark.parametrize("pool", [1, 20])
def test_one_place_behind_is_named_as_several_are(pool: int) -> None:
    finding = limit_finding(tandem(10 * pool, 400, pool).samples())
    assert finding is not None
    assert finding.cause == ("serial" if pool == 1 else "concurrency-limit")
    assert f"the limit of {pool} lies behind `acquire`" in finding.sentence


def test_without_figures_nothing_is_said_of_them() -> None:
    samples = tandem(400, 400, 20).samples()
    for lessened in (
        replace(samples, server_timing={}),
        replace(samples, server_timing={name: np.full(400, MISSING) for name in samples.server_timing}),
        replace(
            samples,
            server_timing={
                name: np.where(np.arange(400) % 2, column, MISSING) for name, column in samples.server_timing.items()
            },
        ),
    ):
        finding = limit_finding(lessened)
        assert finding is not None
        assert "figures" not in finding.sentence
        assert "server_timing" not in finding.evidence


servers = st.builds(
    tandem,
    requests=st.integers(20, 400),
    threads=st.integers(1, 400),
    pool=st.integers(1, 60),
    jitter=st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.9]),
    seed=st.integers(0, 10_000),
)
names = st.lists(
    st.sampled_from(["acquire", "work", "total", "app", "db", "q", "wait"]), min_size=3, max_size=3, unique=True
)


@settings(max_examples=150, deadline=None)
@given(servers, names, st.booleans(), st.booleans())
def test_a_limit_is_said_to_lie_behind_a_figure_only_where_it_does(
    server: Tandem, called: list[str], gives_work: bool, gives_total: bool
) -> None:
    wait, work, total = called
    samples = server.samples(wait=wait, work=work if gives_work else None, total=total if gives_total else None)
    finding = limit_finding(samples)
    assume(finding is not None)
    assert finding is not None
    before, _, _ = server.times()
    if says_inside(finding):
        assert server.pool < min(server.threads, server.requests)
        assert f"behind `{wait}`" in finding.sentence
    figures = finding.evidence.get("server_timing")
    if figures is not None and gives_work:
        assert figures["outside_most_ms"] <= before.max() + 2 * LATENCY_MS


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(2, 9), st.sampled_from([0.0, 0.05, 0.15]), st.integers(0, 10_000), names)
def test_where_all_wait_in_the_pool_it_is_named_whatever_the_figures_are_called(
    pool: int, waves: int, jitter: float, seed: int, called: list[str]
) -> None:
    server = tandem(pool * waves, pool * waves, pool, jitter=jitter, seed=seed)
    finding = limit_finding(server.samples(wait=called[0], work=called[1]))
    assume(finding is not None)
    assert finding is not None
    assert f"waited in `{called[0]}`" in finding.sentence


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(2, 12), st.integers(0, 10_000))
def test_work_of_any_length_is_not_taken_for_waiting(threads: int, waves: int, seed: int) -> None:
    requests = threads * waves
    work = np.random.default_rng(seed).exponential(100, requests) + 3
    samples = Tandem(requests, threads, requests, work).samples()
    finding = limit_finding(replace(samples, server_timing={"work": samples.server_timing["work"]}))
    assert finding is None or not says_inside(finding)
