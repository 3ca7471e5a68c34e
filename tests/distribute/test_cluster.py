"""A scheduler and three workers on loopback, each a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadgen.distribute import cluster
from loadgen.errors import UsageError
from loadgen.outcome import Outcome
from loadgen.render.document import run_data
from loadgen.render.text import run_lines
from tests.cli.test_failures import figures
from tests.distribute.support import one_run, plan_at, rate
from tests.support import PATIENCE_S, Server, script_environment, start_script, unused_port

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

WORKERS = 3
START_PATIENCE_S = 60.0


class Cluster:
    """A Dask cluster. A context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        self._scheduler = self._start("scheduler", "--port", "0")
        deadline = time.monotonic() + START_PATIENCE_S
        while not self._file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.address: str = json.loads(self._file.read_text())["address"]
        self.fill_up()
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process in [*self.workers, self._scheduler]:
            if process is not None:
                process.kill()
                process.wait()

    def fill_up(self) -> None:
        """Starts as many workers as are missing, and waits until the scheduler knows them all."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < WORKERS:
            self.workers.append(self._start("worker", "--nthreads", "1", "--no-nanny"))
        import distributed

        connect: Any = distributed.Client  # its types are not given
        with connect(self.address, set_as_default=False) as client:
            client.wait_for_workers(WORKERS, START_PATIENCE_S)

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{what}.log").open("ab")
        with log:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", f"distributed.cli.dask_{what}", *options, "--no-dashboard"),
                    *("--host", "127.0.0.1", "--scheduler-file", str(self._file)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=script_environment(),
            )


@pytest.fixture(scope="module")
def whole_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def dask(whole_cluster: Cluster) -> Cluster:
    """With all its workers, whatever the test before did to them."""
    whole_cluster.fill_up()
    return whole_cluster


def test_a_burst_of_3000_is_released_by_all_at_the_same_moment(dask: Cluster, server: Server) -> None:
    plan = plan_at(server.url(), 3000, scheduler=dask.address, timeout_s=60.0)
    spreads_ms = []
    for _ in range(3):
        run = one_run(plan)
        assert run.summary.ok == run.summary.requests == 3000
        assert run.skew is not None
        assert run.skew.workers == run.use.workers == WORKERS
        assert run.skew.release_spread_ns is not None
        spreads_ms.append(run.skew.release_spread_ns / 1e6)
    assert len(server.received) == 9000
    assert sorted(spreads_ms)[1] < 50  # 1 to 16 ms on two cores that others use too


def test_an_open_load_is_dealt_out_exactly_and_the_skew_is_told(dask: Cluster, server: Server) -> None:
    plan = plan_at(server.url(), **rate(301, 2), scheduler=dask.address)
    run = one_run(plan)
    assert run.summary.ok == run.summary.requests == len(server.received) == 602
    told = run_data(run, plan)["cluster"]
    assert told["scheduler"] == dask.address
    assert told["workers"] == WORKERS
    assert 0 < told["clock_uncertainty_ms"] < 1000
    assert any(line.startswith("cluster: 3 workers; their clocks are known to ") for line in run_lines(plan, run))


def test_clocks_of_one_machine_are_found_to_be_one(dask: Cluster) -> None:
    with cluster.ClusterCrew(dask.address) as crew:
        for worker in crew._workers():
            clock = crew._clock(worker)
            assert clock.uncertainty_ns > 0
            assert abs(clock.offset_ns) <= clock.uncertainty_ns


def test_a_worker_that_is_lost_fails_its_own_requests_and_the_rest_is_kept(dask: Cluster, server: Server) -> None:
    def kill() -> None:
        server.wait_for_requests(30)
        dask.workers[0].kill()
        dask.workers[0].wait()

    killing = threading.Thread(target=kill)
    killing.start()
    run = one_run(plan_at(server.url("/sleep/2500"), 30, scheduler=dask.address))
    killing.join()
    assert run.summary.ok == 20
    assert run.summary.failures == {Outcome.CLIENT: 10}
    assert not run.trusted


def test_ctrl_c_brings_back_what_the_workers_measured_and_leaves_them_idle(dask: Cluster, server: Server) -> None:
    arguments = (server.url("/sleep/30"), "-n", "5000", "-c", "6", "--scheduler", dask.address)
    with start_script("loadgen", *arguments) as process:
        server.wait_for_requests(50)
        process.send_signal(signal.SIGINT)
        output, notes = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in notes
    assert process.returncode == 130
    shown = figures(output)
    assert int(shown["ok"]) >= 30
    assert int(shown["ok"]) + int(shown["failed"]) == int(shown["requests"]) == 5000
    came = len(server.received)
    assert one_run(plan_at(server.url("/again"), 6, scheduler=dask.address)).summary.ok == 6
    assert len(server.received) == came + 6


def test_what_an_engine_cannot_send_is_said_as_here(dask: Cluster, server: Server) -> None:
    plan = plan_at(server.url(), 4, preconnect=True, engine="httpx", scheduler=dask.address)
    with pytest.raises(UsageError, match="--preconnect needs the wire engine"):
        one_run(plan)


def test_another_version_is_refused_with_both(dask: Cluster, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cluster.ClusterCrew._connect

    class Elsewhere:
        def __init__(self, client: Any) -> None:
            self._client = client

        def run(self, *_: object, **__: object) -> dict[str, tuple[str, str]]:
            return {"tcp://10.0.0.7:4000": ("0.0.9", "3.10")}

        def close(self) -> None:
            self._client.close()

    monkeypatch.setattr(cluster.ClusterCrew, "_connect", lambda crew: Elsewhere(real(crew)))
    with pytest.raises(UsageError, match=r"tcp://10\.0\.0\.7:4000 has loadrig 0\.0\.9 on Python 3\.10, and this side"):
        one_run(plan_at(server.url(), scheduler=dask.address))
    assert server.received == []


def test_a_scheduler_that_does_not_answer_is_given_five_seconds(server: Server) -> None:
    address = f"tcp://127.0.0.1:{unused_port()}"
    began = time.monotonic()
    with start_script("loadgen", server.url(), "--n", "4", "--scheduler", address) as process:
        output, notes = process.communicate(timeout=PATIENCE_S)
    assert 4 < time.monotonic() - began < 15
    assert (process.returncode, output, server.received) == (2, "", [])
    assert notes.startswith(f"loadgen: no scheduler answered at {address} within 5 s")
    assert notes.count("\n") == 1


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_who_listens_and_is_no_scheduler_is_given_five_seconds_too(server: Server, greeting: bytes) -> None:
    """One that never says a word, and one whose words are no frame: read as its length they are exabytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        began = time.monotonic()
        with start_script("loadgen", server.url(), "--n", "4", "--scheduler", address) as process:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(greeting)
                output, notes = process.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - began < 15
    assert (process.returncode, output, server.received) == (2, "", [])
    assert notes.startswith(f"loadgen: no scheduler answered at {address} within 5 s")
    assert notes.count("\n") == 1


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'loadrig\[cluster\]'"):
        one_run(plan_at(server.url(), scheduler="tcp://127.0.0.1:1"))
