from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import threading
from typing import Any

import pytest

from loadgen import address, kernel
from loadgen.engines.wire import run as wire_run
from loadgen.engines.wire.readiness import Readiness
from loadgen.errors import CapacityError, UsageError
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Target, Workload
from loadgen.run import WARMUP, Run
from loadgen.runner import Session
from loadgen.samples import MISSING, Recorder
from tests.support import Server, unused_port


def plan_at(url: str, requests: int = 4, concurrency: int | None = None, **options: Any) -> Plan:
    workload = {key: options.pop(key) for key in ("timeout_s", "preconnect", "keepalive") if key in options}
    return Plan(Target.parse(url), Workload(requests, concurrency or requests, **workload), **options)


def runs_of(plan: Plan) -> list[Run]:
    with Session(plan) as session:
        return list(session.runs())


def test_each_run_is_carried_out_and_warm_up_runs_come_first_and_have_no_number(server: Server) -> None:
    runs = runs_of(plan_at(server.url("/x"), requests=3, runs=2, warmup=2))
    assert [run.number for run in runs] == [WARMUP, WARMUP, 1, 2]
    assert [run.summary.ok for run in runs] == [3] * 4
    assert len(server.received) == 12
    assert {run.address for run in runs} == {f"127.0.0.1:{server.port}"}


def test_a_pause_stands_between_runs_and_nowhere_else(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[tuple[float, int]] = []
    monkeypatch.setattr("loadgen.runner.rest", lambda seconds: paused.append((seconds, len(server.received))))
    runs_of(plan_at(server.url(), requests=2, runs=2, warmup=1, pause_s=7))
    assert paused == [(7, 2), (7, 4)]


def test_the_rows_of_an_ok_burst_are_in_time_order(server: Server) -> None:
    (run,) = runs_of(plan_at(server.url("/sleep/20"), requests=10))
    samples = run.samples
    assert run.summary.ok == 10
    assert (samples.due == samples.begun).all()
    assert (samples.begun >= 0).all()
    assert (samples.connected >= samples.begun).all()
    assert (samples.first_byte >= samples.connected).all()
    assert (samples.first_byte - samples.begun >= 20_000_000).all()
    assert (samples.done >= samples.first_byte).all()
    assert set(samples.status) == {200}
    assert not samples.reused.any()
    assert run.summary.wall_ns == samples.done.max()
    assert server.connections == server.peak == 10


def test_a_closed_load_keeps_so_many_in_flight_and_uses_connections_again(server: Server) -> None:
    (run,) = runs_of(plan_at(server.url("/sleep/5"), requests=12, concurrency=3))
    assert run.summary.ok == 12
    assert server.peak == 3
    assert server.connections == 3
    assert run.samples.reused.sum() == 9
    assert ((run.samples.connected == MISSING) == (run.samples.reused == 1)).all()


def test_a_closed_load_without_keepalive_connects_for_each_request(server: Server) -> None:
    (run,) = runs_of(plan_at(server.url(), requests=6, concurrency=2, keepalive=False))
    assert run.summary.ok == server.connections == 6
    assert not run.samples.reused.any()


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_exactly_the_requests_asked_for_are_sent(server: Server, concurrency: int) -> None:
    (run,) = runs_of(plan_at(server.url(), requests=8, concurrency=concurrency))
    assert run.summary.ok == len(server.received) == 8


ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def test_preconnected_connections_are_all_up_before_the_first_request() -> None:
    requests = 50
    waiting: list[socket.socket] = []

    def serve() -> None:
        first = listener.accept()[0]
        first.recv(1, socket.MSG_PEEK)  # the first request is there, so all others must be connected
        listener.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting.append(listener.accept()[0])
        for connection in (first, *waiting):
            connection.setblocking(True)
            connection.recv(4096)
            connection.sendall(ANSWER)
            connection.close()

    with socket.create_server(("127.0.0.1", 0), backlog=requests) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        (run,) = runs_of(plan_at(url, requests, preconnect=True, timeout_s=10))
        serving.join()
    assert len(waiting) == requests - 1
    assert run.summary.ok == requests
    assert (run.samples.connected == MISSING).all()
    assert run.samples.reused.all()


def test_connections_that_end_while_they_wait_for_their_release_are_failed_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests = 20
    taken: list[socket.socket] = []
    drain = Readiness.drain

    def close_all_then_drain(readiness: Readiness) -> None:
        if any(connection.index >= 0 for connection in readiness._live.values()):
            serving.join()
            while taken:
                taken.pop().close()
        drain(readiness)

    monkeypatch.setattr(Readiness, "drain", close_all_then_drain)
    monkeypatch.setattr(wire_run, "_BEGIN_TURN_NS", 0)  # drained after each request begun
    with socket.create_server(("127.0.0.1", 0), backlog=requests) as listener:
        serving = threading.Thread(
            target=lambda: taken.extend(listener.accept()[0] for _ in range(requests)),
        )
        serving.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        (run,) = runs_of(plan_at(url, requests, preconnect=True, timeout_s=10))
    assert run.summary.ok == 0
    assert set(run.summary.failures) <= {Outcome.STALE, Outcome.RESET}


def test_a_name_without_an_address_fails_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    run, again = runs_of(plan_at("http://nonexistent.invalid/", runs=2))
    assert run.summary.failures == again.summary.failures == {Outcome.DNS: 4}
    assert run.summary.times is None
    assert run.address == "nonexistent.invalid"
    assert not run.interrupted


def answer(*ips: str) -> Any:
    def getaddrinfo(_host: str, port: int, **_: object) -> list[Any]:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (ip, port, 0, 0))
            if ":" in ip
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port))
            for ip in ips
        ]

    return getaddrinfo


@pytest.mark.parametrize(
    "ips", [("8.8.8.8",), ("2001:4860:4860::8888", "8.8.8.8"), ("::ffff:8.8.8.8",), ("127.0.0.1", "8.8.8.8")]
)
def test_a_public_address_is_refused_before_anything_is_sent_to_it(
    ips: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answer(*ips))
    monkeypatch.setattr(address, "_accepts", lambda _: pytest.fail("a probe was sent"))
    monkeypatch.setattr("loadgen.runner.asyncio.Runner.run", lambda *_: pytest.fail("a run was begun"))
    with pytest.raises(UsageError) as refused:
        runs_of(plan_at("http://shop.example/"))
    message = str(refused.value)
    assert message.startswith("shop.example is at ")
    for part in ("public address", "owner must have agreed", "share its limits", "--allow-remote"):
        assert part in message


def test_a_public_address_is_fired_at_where_the_owner_has_agreed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address.Address, "is_public", property(lambda _: True))
    with pytest.raises(UsageError):
        runs_of(plan_at(server.url()))
    (run,) = runs_of(plan_at(server.url(), allow_remote=True))
    assert run.summary.ok == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_keeps_what_was_measured(server: Server, number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def send() -> None:
        server.wait_for_requests(4)  # one answered, of two at a time, so that the second is not yet begun
        os.kill(os.getpid(), number)

    sending = threading.Thread(target=send)
    sending.start()
    runs = runs_of(plan_at(server.url("/sleep/30"), requests=10_000, concurrency=2, runs=3))
    sending.join()
    assert [run.interrupted for run in runs] == [True]
    (run,) = runs
    assert run.summary.ok >= 2
    assert run.summary.failures == {Outcome.CANCELLED: 10_000 - run.summary.ok}
    assert (run.samples.due == MISSING).sum() == 10_000 - run.summary.ok - 2
    assert signal.getsignal(number) == before


def test_a_server_that_never_answers_is_given_up_at_the_timeout(server: Server) -> None:
    (run,) = runs_of(plan_at(server.url("/never"), timeout_s=0.2, over_ms=200))
    assert run.summary.failures == {Outcome.TIMEOUT: 4}
    assert run.summary.over == 4, "a time-out counts as at least its limit"
    assert run.summary.wall_ns is not None
    assert 200_000_000 <= run.summary.wall_ns < 5_000_000_000


def test_garbage_collection_is_off_during_a_run_and_on_again_after_it(server: Server) -> None:
    assert gc.isenabled()
    seen: list[bool] = []

    class Watching:
        def begin(self, run: int, recorder: Recorder) -> None:
            pass

        def tick(self) -> None:
            seen.append(gc.isenabled())

    with Session(plan_at(server.url()), observer=Watching()) as session:
        session.run(1)
    assert seen
    assert not any(seen)
    assert gc.isenabled()


def test_a_refused_connection_is_a_failed_request() -> None:
    (run,) = runs_of(plan_at(f"http://127.0.0.1:{unused_port()}/", concurrency=2))
    assert run.summary.failures == {Outcome.REFUSED: 4}


# Preflight


def test_more_requests_at_once_than_descriptors_are_refused_with_the_number_that_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "raise_descriptor_limit", lambda: 1000)
    monkeypatch.setattr(kernel, "open_descriptors", lambda: 10)
    with pytest.raises(CapacityError, match=r"^1,000 requests at once need as many descriptors, and 974 fit here"):
        Session(plan_at("http://127.0.0.1/", 1000))
    Session(plan_at("http://127.0.0.1/", 974))
    Session(plan_at("http://127.0.0.1/", 100_000, 974))


def test_more_requests_at_once_than_ports_are_refused_with_the_number_that_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "raise_descriptor_limit", lambda: None)
    monkeypatch.setattr(kernel, "local_ports", lambda: 28_232)
    with pytest.raises(CapacityError, match=r"^28,233 requests at once need as many local ports, and 28,232 fit here"):
        Session(plan_at("http://127.0.0.1/", 28_233))
    Session(plan_at("http://127.0.0.1/", 28_232))


@pytest.mark.parametrize("requests", [10**17, 10**30])
def test_more_requests_than_memory_has_rows_for_are_refused(requests: int) -> None:
    with pytest.raises(CapacityError, match="do not fit in memory"):
        runs_of(plan_at("http://127.0.0.1/", requests, 1))
