"""Requests that vary, through every engine: what arrives, and the target in the rows."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
import uvloop

from loadgen.address import resolve
from loadgen.engines import Job, load_engine
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Share, Stage, Target, Workload
from loadgen.samples import MISSING, Recorder, Samples
from loadgen.schedule import Shard, make_schedule
from tests.engines.harness import check, fire, outcomes
from tests.engines.misbehave import MisbehavingServer


def fire_mix(
    engine: str, shares: list[Share], workload: Workload, shard: Shard | None = None, *, server_timing: bool = False
) -> Samples:
    plan = Plan(shares[0].target, workload, engine=engine, mix=tuple(shares), server_timing=server_timing)
    schedule = make_schedule(workload, shard or Shard())
    rows = schedule.requests or (schedule.arrivals.expected if schedule.arrivals else 0)
    recorder = Recorder(rows, has_due_times=schedule.arrivals is not None, has_targets=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(load_engine(engine).run(Job(plan, resolve(plan.target), schedule, recorder)))
    samples = recorder.samples()
    check(samples)
    return samples


@pytest.mark.parametrize("concurrency", [1, 7, 40])
def test_targets_have_exactly_their_shares(engine: str, server: MisbehavingServer, concurrency: int) -> None:
    shares = [
        Share(Target.parse(server.url("/ok"), headers=(("X-One", "1"),)), 3),
        Share(Target.parse(server.url("/echo?b"), method="POST", body=b"hello")),
    ]
    samples = fire_mix(engine, shares, Workload(40, concurrency, timeout_s=10))

    assert outcomes(samples) == {"ok": 40}
    assert Counter(samples.target.tolist()) == {1: 30, 2: 10}
    assert samples.target[:8].tolist() == [1, 1, 2, 1, 1, 1, 2, 1] or concurrency > 1
    got = Counter((r.method, r.path, r.body, *r.headers("X-One")) for r in server.received)
    assert got == {("GET", "/ok", b"", "1"): 30, ("POST", "/echo?b", b"hello"): 10}


def test_each_row_has_the_answer_of_its_own_target(engine: str, server: MisbehavingServer) -> None:
    """Also where the same bytes are a whole answer to HEAD and half of one to GET."""
    shares = [
        Share(Target.parse(server.url("/head"), method="HEAD")),
        Share(Target.parse(server.url("/head"))),
        Share(Target.parse(server.url("/status/404"))),
        Share(Target.parse(server.url("/chunked"))),
    ]
    samples = fire_mix(engine, shares, Workload(80, 3, timeout_s=10))

    found = Counter(zip(samples.target.tolist(), samples.outcome.tolist(), samples.status.tolist(), strict=True))
    assert found == {
        (1, Outcome.OK, 200): 20,
        (2, Outcome.OK, 200): 20,
        (3, Outcome.HTTP_4XX, 404): 20,
        (4, Outcome.OK, 200): 20,
    }
    sizes = {target: set(samples.bytes_in[samples.target == target].tolist()) for target in (1, 2)}
    assert len(sizes[1]) == len(sizes[2]) == 1
    assert min(sizes[2]) - min(sizes[1]) == len("hello")
    assert server.accepted == 3, "connections are used again, whatever the target"


def test_figures_of_the_server_are_those_of_the_row_s_target(engine: str, server: MisbehavingServer) -> None:
    paths = ("/server-timing?fields=work;dur=1", "/ok", "/server-timing?fields=work;dur=3")
    shares = [Share(Target.parse(server.url(path))) for path in paths]
    samples = fire_mix(engine, shares, Workload(30, 2, timeout_s=10), server_timing=True)

    assert outcomes(samples) == {"ok": 30}
    found = Counter(zip(samples.target.tolist(), samples.server_timing["work"].tolist(), strict=True))
    assert found == {(1, 1_000_000): 10, (2, MISSING): 10, (3, 3_000_000): 10}


@pytest.mark.parametrize("concurrency", [2, 30])
def test_numbers_and_uuids_are_filled_in(engine: str, server: MisbehavingServer, concurrency: int) -> None:
    samples = fire(
        engine,
        server.url("/echo/{seq}?id={uuid}"),
        30,
        concurrency,
        method="POST",
        headers=(("X-Id", "{seq}-{uuid}"), ("X-Literal", "{{seq}} {other}")),
        body=b'{"n": {seq}, "id": "{uuid}"}',
    )

    assert outcomes(samples) == {"ok": 30}
    assert not samples.target.any()
    seen = set()
    for request in server.received:
        body = json.loads(request.body)
        assert request.path == f"/echo/{body['n']}?id={body['id']}"
        assert request.headers("X-Id") == [f"{body['n']}-{body['id']}"]
        assert request.headers("X-Literal") == ["{seq} {other}"]
        assert request.headers("Content-Length") == [str(len(request.body))]
        seen.add((body["n"], body["id"]))
    assert sorted(number for number, _ in seen) == list(range(30))
    assert len({id_ for _, id_ in seen}) == 30


def test_an_open_workload_goes_through_its_targets(engine: str, server: MisbehavingServer) -> None:
    shares = [Share(Target.parse(server.url(path))) for path in ("/ok?a", "/ok?b/{seq}")]
    samples = fire_mix(engine, shares, Workload(None, 50, stages=(Stage(0.2, 200.0, 200.0),), is_open=True))

    assert outcomes(samples) == {"ok": 40}
    assert samples.target.tolist() == [1, 2] * 20
    assert {r.path for r in server.received} == {"/ok?a", *(f"/ok?b/{seq}" for seq in range(1, 40, 2))}


def test_a_request_at_the_cap_has_a_target_too(engine: str, server: MisbehavingServer) -> None:
    shares = [Share(Target.parse(server.url("/slow?ms=400"))) for _ in range(2)]
    stages = (Stage(0.1, 100.0, 100.0),)
    samples = fire_mix(engine, shares, Workload(None, 1, stages=stages, is_open=True, timeout_s=10))

    assert outcomes(samples) == {"ok": 1, "client": 9}
    assert samples.target.tolist() == [1, 2] * 5


def test_a_shard_sends_its_own_numbers(engine: str, server: MisbehavingServer) -> None:
    shares = [Share(Target.parse(server.url(path))) for path in ("/ok?a={seq}", "/ok?b={seq}")]
    samples = fire_mix(engine, shares, Workload(8, 2, timeout_s=10), Shard(1, 2))

    assert samples.target.tolist() == [2, 1, 2, 1]
    assert sorted(r.path for r in server.received) == ["/ok?a=3", "/ok?a=7", "/ok?b=1", "/ok?b=5"]


def test_a_large_body_that_varies_arrives(engine: str, server: MisbehavingServer) -> None:
    body = b"0123456789abcdef" * (2 * 65536) + b"{seq}"
    samples = fire(engine, server.url("/echo"), 3, 1, method="POST", body=body)

    assert outcomes(samples) == {"ok": 3}
    assert [r.body[-4:] for r in server.received] == [b"def0", b"def1", b"def2"]
