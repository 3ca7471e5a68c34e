"""Seeded runs of every kind. Each function draws one run of its kind, and knows what is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from loadgen.watch import ClientUse
from tests.truth.cases import Case, Draw, Expected, case, one_of, waited_rows
from tests.truth.model import Floats, Request, Setup, Stall, Trace
from tests.truth.observe import Observer, observed
from tests.truth.sharing import shared_ends

_RELEASE_S: Final = 25e-6


_SLOW: Final = frozenset({"unexplained"})
"""May be said of heavy tails: the server itself was slow with these."""


def _least_service_s(requests: int, low: float = 0.005) -> float:
    """So long at least that the release stays under a tenth of it."""
    return max(low, requests * _RELEASE_S / 0.07)


def _waves(draw: Draw, least_limit: int = 1) -> tuple[int, int]:
    """Requests and limit: 2 to 50 waves, the last one seldom full."""
    limit = draw.whole(least_limit, draw.most // 2)
    waves = draw.whole(2, max(2, min(50, draw.most // limit)))
    return limit * (waves - 1) + draw.whole(1, limit), limit


def _burst_in_waves(draw: Draw, least_limit: int = 1) -> Setup:
    requests, limit = _waves(draw, least_limit)
    service_s = draw.spread(_least_service_s(requests), 10.0)
    service = draw.jittered(service_s, draw.pick((0.0, draw.real(0, 0.05), draw.real(0, 0.2))), requests)
    if draw.chance(0.4):
        service[:limit] *= draw.real(1.0, 1.5)
    return Setup(
        requests,
        requests,
        service,
        limit=limit,
        accept_s=draw.spread(1e-5, 4e-5),
        way_s=draw.pick((8e-6, 8e-6, draw.spread(1e-4, 2e-2))),
        noise_s=draw.noise_s(service_s),
    )


def waves(draw: Draw) -> Case:
    """A burst, served in waves."""
    setup = _burst_in_waves(draw, 2)
    return case("waves", draw, setup, draw.observer(), limit=setup.limit)[0]


def serial(draw: Draw) -> Case:
    """A burst, served one after another; sometimes by a busy event loop."""
    requests = draw.whole(2, min(400, draw.most))
    service_s = draw.spread(_least_service_s(requests), 10.0)
    service = draw.jittered(service_s, draw.real(0, 0.2), requests)
    service[0] *= draw.real(1.0, 1.5)
    setup = Setup(requests, requests, service, limit=1, noise_s=draw.noise_s(service_s))
    found, trace = case("serial", draw, setup, draw.observer(), limit=1)
    if found.evidence.server.cpu_s is not None and draw.chance(0.5):
        busy = observed(trace, "local", cpu_s=draw.real(0.85, 1.0) * float(service.sum()))
        return replace(found, evidence=busy, note="busy")
    return found


def closed(draw: Draw) -> Case:
    """C users, each again after its answer; more of them than places."""
    concurrency, limit = _waves(replace_most(draw, draw.most // 3), 1)
    requests = min(draw.most, concurrency * draw.whole(2, 8))
    if requests <= concurrency:
        requests = 2 * concurrency
    service_s = draw.spread(_least_service_s(concurrency), 3.0)
    service = draw.jittered(service_s, draw.real(0, 0.2), requests)
    if draw.chance(0.3):
        service[:limit] *= draw.real(1.0, 1.5)
    setup = Setup(
        requests,
        concurrency,
        service,
        limit=limit,
        keepalive=draw.chance(0.6),
        noise_s=draw.noise_s(service_s),
        way_s=draw.pick((8e-6, draw.spread(1e-4, 5e-3))),
    )
    return case("closed", draw, setup, draw.observer(), limit=limit)[0]


def replace_most(draw: Draw, most: int) -> Draw:
    """The same draws, with fewer requests at most."""
    other = Draw(draw.seed, most)
    other.rng = draw.rng
    return other


def blurred(draw: Draw) -> Case:
    """Waves that cannot be seen: service times differ by more than a third."""
    limit = draw.whole(5, draw.most // 5)
    requests = max(60, int(limit * draw.real(2.5, min(20.0, draw.most / limit))))
    service_s = draw.spread(_least_service_s(requests, 0.02), 5.0)
    if draw.chance(0.5):
        service = service_s * (1 + draw.rng.uniform(-1, 1, requests) * draw.real(0.35, 0.6))
    else:
        service = service_s * draw.rng.lognormal(0, draw.real(0.3, 0.6), requests)
    service = np.maximum(service, requests * _RELEASE_S / 0.07)
    setup = Setup(requests, requests, service, limit=limit, noise_s=draw.noise_s(service_s))
    found, _ = case("blurred", draw, setup, draw.observer(), limit=limit)
    return replace(found, expected=replace(found.expected, within=0.15, service_s=None, may=_SLOW))


_DISTRIBUTIONS: Final[tuple[Callable[[Draw, int], Floats], ...]] = (
    lambda draw, n: draw.jittered(1.0, draw.real(0, 0.2), n),
    lambda draw, n: 1 + draw.rng.uniform(-1, 1, n) * draw.real(0.2, 0.9),
    lambda draw, n: draw.rng.lognormal(0, draw.real(0.1, 1.2), n),
    lambda draw, n: 0.2 + draw.rng.exponential(1.0, n),
    lambda draw, n: 0.5 + draw.rng.pareto(draw.real(1.2, 3.0), n),
    lambda draw, n: draw.rng.gamma(draw.real(1.0, 8.0), 1.0, n) + 0.1,
    # Two humps, the second often at twice the first: what two waves look like in a histogram.
    lambda draw, n: (
        np.where(draw.rng.random(n) < draw.real(0.05, 0.95), 1.0, draw.pick((2.0, draw.real(1.2, 12.0))))
        * (1 + draw.rng.uniform(-1, 1, n) * draw.real(0, 0.1))
    ),
    # Three, evenly spaced: three waves.
    lambda draw, n: draw.rng.integers(1, 4, n) * (1 + draw.rng.uniform(-1, 1, n) * draw.real(0, 0.1)),
)


def overlapped(draw: Draw) -> Case:
    """No limit, and service times of every kind."""
    requests = draw.whole(5, draw.most)
    concurrency = requests if draw.chance(0.7) else max(2, requests // draw.whole(2, 8))
    relative = np.maximum(draw.pick(_DISTRIBUTIONS)(draw, requests), 0.05)
    least_s = _least_service_s(concurrency) / float(relative.min())
    service_s = draw.spread(least_s, max(5.0, 2 * least_s))
    setup = Setup(
        requests,
        concurrency,
        service_s * np.minimum(relative, 60.0),
        keepalive=draw.chance(0.5),
        accept_s=draw.spread(1e-5, 6e-5),
        noise_s=draw.noise_s(service_s),
        way_s=draw.pick((8e-6, 8e-6, draw.spread(1e-4, 2e-2))),
    )
    found, _ = case("overlapped", draw, setup, draw.observer())
    return replace(found, expected=replace(found.expected, may=found.expected.may | {"unexplained"}))


def _overflowing(draw: Draw, requests: int, service: Floats, limit: int | None) -> Setup:
    return Setup(
        requests,
        requests,
        service,
        limit=limit,
        backlog=draw.whole(max(5, requests // 12), max(6, requests // 2)),
        accept_s=draw.spread(3e-5, 4e-4),
        linear_timeouts=draw.pick((4, 4, 0)),
        timeout_s=60.0,
        # From afar many SYNs are let in before the first ACKs fill the queue.
        way_s=draw.pick((8e-6, 8e-6, draw.spread(2e-4, 1e-2))),
        noise_s=draw.spread(1e-4, 1e-3),
    )


def dropped(draw: Draw) -> Case:
    """SYNs dropped, and no limit beside it."""
    requests = draw.whole(40, min(1500, draw.most))
    service_s = draw.spread(_least_service_s(requests, 0.05), 3.0)
    setup = _overflowing(draw, requests, draw.jittered(service_s, draw.real(0, 0.2), requests), None)
    return case("dropped", draw, setup, draw.observer())[0]


def dropped_and_waves(draw: Draw) -> Case:
    """SYNs dropped before a server with places."""
    requests = draw.whole(40, min(1500, draw.most))
    service_s = draw.spread(_least_service_s(requests, 0.1), 3.0)
    limit = draw.whole(2, requests // 2)
    setup = _overflowing(draw, requests, draw.jittered(service_s, draw.real(0, 0.2), requests), limit)
    found, trace = case("dropped + waves", draw, setup, draw.observer(), limit=limit)
    waited, seen = waited_rows(trace), trace.column("connected") == trace.column("reached") - setup.way_s
    # The limit can be read off those whose arrival is known; of a few of them it need not be.
    if np.count_nonzero(waited & seen) < max(5, 0.1 * requests):
        shapes = frozenset({"concurrency-limit", "overlapped"})
        must = tuple(group for group in found.expected.must if not group & shapes)
        expected = replace(found.expected, must=must, may=found.expected.may | shapes, limit=None, doubt="")
        return replace(found, expected=expected, note="few waited")
    return found


def connections(draw: Draw) -> Case:
    """The server accepts so many connections; the others stand in the accept queue."""
    requests, limit = _waves(draw, 2)
    service_s = draw.spread(_least_service_s(requests, 0.04), 5.0)
    service = draw.jittered(service_s, draw.real(0, 0.2), requests)
    above = draw.chance(0.5)
    setup = Setup(
        requests,
        requests,
        service,
        limit=limit + draw.whole(1, limit) if above else None,
        connections=limit,
        backlog=requests,
        accept_s=draw.spread(1e-5, 3e-5),
        noise_s=draw.noise_s(service_s),
    )
    return case("connections", draw, setup, draw.observer(), limit=limit, in_queue=True)[0]


def connections_and_places(draw: Draw) -> Case:
    """More connections accepted than worked on: it is the places that are waited for."""
    requests, limit = _waves(draw, 4)
    service_s = draw.spread(_least_service_s(requests, 0.06), 5.0)
    setup = Setup(
        requests,
        requests,
        draw.jittered(service_s, draw.real(0, 0.15), requests),
        limit=limit,
        connections=int(limit * draw.real(1.3, 3.0)) + 1,
        backlog=requests,
        accept_s=draw.spread(1e-5, 3e-5),
        noise_s=draw.noise_s(service_s),
    )
    return case("connections above places", draw, setup, draw.observer(), limit=limit)[0]


def starving(draw: Draw) -> Case:
    """Users that keep their connections, more of them than the server accepts."""
    concurrency = draw.whole(10, 200)
    limit = max(2, int(concurrency * draw.real(0.2, 0.9)))
    requests = concurrency * draw.whole(6, 12)
    service_s = draw.spread(0.02, 1.0)
    setup = Setup(
        requests,
        concurrency,
        draw.jittered(service_s, draw.real(0, 0.2), requests),
        connections=limit,
        keepalive=True,
        noise_s=draw.noise_s(service_s),
    )
    found, _ = case("starving", draw, setup, draw.observer(), limit=limit, in_queue=True)
    # Who was overtaken again and again was not in the server: that is seen from afar too, where it went on for long
    # enough that the server was not only late in accepting.
    local = bool(found.evidence.server.queue)
    must = one_of("connection-limit") if local else one_of("connection-limit", "overlapped")
    expected = replace(found.expected, must=(must,), doubt="" if local else "accepts", service_s=None)
    if not local:
        expected = replace(expected, limit=None)
    return replace(found, expected=replace(expected, may=expected.may | {"unexplained"}))


def shed(draw: Draw) -> Case:
    """Turned away beyond a limit."""
    requests = draw.whole(20, draw.most)
    limit = draw.whole(1, int(requests * 0.9))
    service_s = draw.spread(_least_service_s(requests, 0.02), 5.0)
    setup = Setup(
        requests,
        requests,
        draw.jittered(service_s, draw.real(0, 0.2), requests),
        limit=limit,
        room=0,
        refusal=draw.pick((503, 429, 0)),
        noise_s=draw.noise_s(service_s),
    )
    found, _ = case("shed", draw, setup, draw.observer())
    return replace(found, expected=replace(found.expected, limit=limit))


def shed_and_waves(draw: Draw) -> Case:
    """Some wait, and beyond those some are turned away."""
    requests, limit = _waves(draw, 3)
    service_s = draw.spread(_least_service_s(requests, 0.02), 5.0)
    service = draw.jittered(service_s, draw.real(0, 0.2), requests)
    setup = Setup(
        requests,
        requests,
        service,
        limit=limit,
        room=max(3, int((requests - limit) * draw.real(0.2, 0.95))),
        refusal=draw.pick((503, 429, 0)),
        noise_s=draw.noise_s(service_s),
    )
    return case("shed + waves", draw, setup, draw.observer(), limit=limit)[0]


def _stalled(draw: Draw, found: Case, trace: Trace) -> Case:
    delay = trace.column("due") - trace.column("undelayed")
    (stall,) = trace.setup.stalls
    length = stall.end_s - stall.begin_s
    enough = np.count_nonzero(delay > 0.1 * length) >= max(8, 0.3 * trace.setup.concurrency)
    expected = replace(found.expected, stalls=trace.setup.stalls)
    # A shorter one is not told from the machine's own scheduling.
    enough &= length > 0.06
    if enough and float(np.nanmax(delay)) > 0.8 * length:
        expected = replace(expected, must=(*expected.must, one_of("stall")))
    else:
        expected = replace(expected, may=expected.may | {"stall"})
    return replace(found, expected=expected, note="frozen" if stall.frozen else "held")


def stall(draw: Draw) -> Case:
    """Users of a server that stands still once."""
    concurrency = draw.whole(20, 300)
    requests = concurrency * draw.whole(4, 10)
    service_s = draw.spread(0.05, 1.0)
    limit = draw.pick((None, max(2, concurrency // draw.whole(2, 4))))
    turn_s = service_s * (concurrency / limit if limit else 1)
    length = draw.real(0.6, 3.0) * service_s
    begin = draw.real(1.5, requests / concurrency - 1.5) * turn_s
    setup = Setup(
        requests,
        concurrency,
        draw.jittered(service_s, draw.real(0.05, 0.2), requests),
        limit=limit,
        keepalive=draw.chance(0.7),
        stalls=(Stall(begin, begin + length, draw.chance(0.5)),),
        noise_s=draw.noise_s(service_s),
    )
    return _stalled(draw, *case("stall", draw, setup, draw.observer(), limit=limit))


def stall_and_waves(draw: Draw) -> Case:
    """A burst in waves, and one stand-still while a later wave is at work."""
    limit = draw.whole(10, max(10, draw.most // 4))
    waves_ = draw.whole(4, max(4, min(20, draw.most // limit)))
    requests = limit * waves_
    service_s = draw.spread(_least_service_s(requests, 0.05), 2.0)
    length = draw.real(0.6, 3.0) * service_s
    begin = (draw.whole(1, waves_ - 2) + draw.real(0.2, 0.7)) * service_s
    setup = Setup(
        requests,
        requests,
        draw.jittered(service_s, draw.real(0.0, 0.1), requests),
        limit=limit,
        stalls=(Stall(begin, begin + length, frozen=True),),
        noise_s=draw.noise_s(service_s),
    )
    return _stalled(draw, *case("stall + waves", draw, setup, draw.observer(), limit=limit))


def lost(draw: Draw) -> Case:
    """Some are never answered."""
    requests = draw.whole(20, min(1000, draw.most))
    service_s = draw.spread(_least_service_s(requests, 0.02), 2.0)
    gone = draw.rng.choice(requests, draw.whole(1, max(1, requests // 5)), replace=False)
    setup = Setup(
        requests,
        requests,
        draw.jittered(service_s, draw.real(0, 0.3), requests),
        lost=frozenset(gone.tolist()),
        timeout_s=max(2.0, draw.real(2, 6) * service_s),
        noise_s=draw.noise_s(service_s),
    )
    return case("lost", draw, setup, draw.observer())[0]


def hung(draw: Draw) -> Case:
    """A server that stops accepting: its queue fills up, and SYNs are dropped until time is up."""
    requests = draw.whole(20, min(600, draw.most))
    setup = Setup(
        requests,
        requests,
        np.full(requests, draw.real(0.1, 0.6)),
        backlog=draw.whole(5, requests),
        accepts_until_s=requests * _RELEASE_S * draw.real(0, 0.9),
        accept_s=draw.spread(2e-5, 1e-4),
        timeout_s=draw.real(2.5, 12.0),
        linear_timeouts=draw.pick((4, 0)),
    )
    found, _ = case("hung", draw, setup, draw.observer())
    # A few that were served before do not tell whether there is a limit.
    must = tuple(group for group in found.expected.must if group != one_of("overlapped"))
    return replace(found, expected=replace(found.expected, must=must, may=found.expected.may | {"overlapped"}))


def timeouts_and_waves(draw: Draw) -> Case:
    """Waves, the last of which come too late."""
    limit = draw.whole(3, draw.most // 4)
    waves_ = draw.whole(4, max(4, min(20, draw.most // limit)))
    requests = limit * waves_
    service_s = draw.spread(_least_service_s(requests, 0.05), 5.0)
    setup = Setup(
        requests,
        requests,
        draw.jittered(service_s, draw.real(0, 0.15), requests),
        limit=limit,
        timeout_s=draw.real(2.4, waves_ - 0.6) * service_s,
        noise_s=draw.noise_s(service_s),
    )
    return case("timeouts + waves", draw, setup, draw.observer(), limit=limit)[0]


def client(draw: Draw) -> Case:
    """A generator that cannot keep up: slow to release, out of CPU, or late in its loop."""
    requests = draw.whole(20, min(1500, draw.most))
    service_s = draw.spread(_least_service_s(requests, 0.05), 1.0)
    manner = draw.pick(("release", "cpu", "lag"))
    release_s = draw.real(0.15, 0.8) * service_s / requests if manner == "release" else _RELEASE_S
    setup = Setup(
        requests,
        requests,
        draw.jittered(service_s, draw.real(0, 0.1), requests),
        release_s=release_s,
        noise_s=draw.real(0.1, 0.3) * service_s if manner == "lag" else draw.noise_s(service_s),
    )
    observer = draw.observer()
    found, trace = case("client", draw, setup, observer)
    use = {
        "release": ClientUse(40.0, 1.0, 3.0),
        "cpu": ClientUse(draw.real(93, 100), 3.0, 9.0),
        "lag": ClientUse(60.0, draw.real(0.4, 1.5) * 1000 * service_s, 1600 * service_s),
    }[manner]
    expected = replace(found.expected, must=(one_of("overlapped"), one_of("client")), may=frozenset(), service_s=None)
    return replace(found, evidence=observed(trace, observer, use=use), expected=expected, note=manner)


def _sharing(draw: Draw, ends: Floats, arrival: Floats) -> Trace:
    requests = [
        Request(row, row, float(at), connected=float(at) + 1e-5, reached=float(at) + 1e-5, started=float(at))
        for row, at in enumerate(arrival)
    ]
    for request, end in zip(requests, ends.tolist(), strict=True):
        request.due = request.undelayed = end
        request.status = 200
        request.done = end + float(draw.rng.exponential(2e-4))
    return Trace(Setup(len(requests), len(requests), ends - arrival), requests, 0, [(0.025, 0), (0.05, 0)], len(ends))


def cpu_shared(draw: Draw) -> Case:
    """Work that shares the CPU, or spins side by side and only watches the clock."""
    requests = draw.whole(4, 200)
    cores = draw.pick((1, 2))
    lone_s = draw.spread(0.02, 0.4)
    arrival = np.arange(requests, dtype=np.float64) * _RELEASE_S
    watches = draw.chance(0.3)
    if watches:
        lone_s = max(lone_s, 1.2 * _least_service_s(requests))
        ends: Floats = arrival + lone_s * (1 + draw.rng.uniform(0, 0.2, requests))
    else:
        ends = shared_ends(arrival, draw.jittered(lone_s, draw.real(0, 0.3), requests), cores)
    trace = _sharing(draw, ends, arrival)
    observer: Observer = "local" if draw.chance(0.67) else "remote"
    tells_lone = draw.chance(0.5)
    used_s = cores * float(ends.max()) * draw.real(0.85, 1.0)
    evidence = observed(trace, observer, cpu_s=used_s, lone_s=lone_s if tells_lone else None)
    if observer == "local" and float(ends.max()) >= 0.1:
        expected = Expected((one_of("cpu-shared"),))
    elif observer == "remote" and not tells_lone:
        expected = Expected((one_of("overlapped"),), doubt="CPU")
    elif observer == "remote":
        slowed = float(np.median(ends)) > 2.5 * lone_s
        expected = Expected((one_of("overlapped") if watches else one_of("overlapped", "cpu-shared"),))
        expected = Expected((one_of("cpu-shared"),)) if slowed else expected
    else:
        expected = Expected((one_of("overlapped", "cpu-shared"),))
    return Case("cpu-shared", draw.seed, evidence, expected, "watches the clock" if watches else f"{cores} cores")


def cpu_in_turns(draw: Draw) -> Case:
    """As many at work as there are CPUs, each to its end: waves of two, and the CPU is busy."""
    requests = draw.whole(8, min(200, draw.most))
    service_s = draw.spread(_least_service_s(requests, 0.02), 1.0)
    setup = Setup(requests, requests, draw.jittered(service_s, draw.real(0, 0.1), requests), limit=2)
    _, trace = case("cpu in turns", draw, setup, "local", limit=2)
    evidence = observed(trace, "local", cpu_s=draw.real(0.85, 0.98) * float(setup.service_s.sum()))
    expected = Expected((one_of("concurrency-limit"),), limit=2, service_s=service_s)
    return Case("cpu in turns", draw.seed, evidence, expected)


KINDS: Final[tuple[tuple[Callable[[Draw], Case], int], ...]] = (
    (overlapped, 520),
    (waves, 460),
    (serial, 120),
    (closed, 200),
    (blurred, 160),
    (dropped, 180),
    (dropped_and_waves, 180),
    (connections, 120),
    (connections_and_places, 60),
    (starving, 60),
    (shed, 100),
    (shed_and_waves, 80),
    (stall, 140),
    (stall_and_waves, 80),
    (lost, 60),
    (hung, 40),
    (timeouts_and_waves, 80),
    (client, 80),
    (cpu_shared, 120),
    (cpu_in_turns, 40),
)
"""Each kind, and how many runs of it the whole suite makes."""
