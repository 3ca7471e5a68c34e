"""`rig compare` when something ends early: a server, the reader of its output, or rig itself."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.rig.support import PATIENCE_S, Place, interrupt, parse_report
from tests.servers.support import eventually

ENDLESS = ["--path", "/sleep?ms=5", "--n", "200000", "-c", "4"]
"""Far more requests than are waited for; some end soon."""


def test_crash_at_start_is_said_and_stops_the_others(broken_place: Place) -> None:
    crashed = broken_place.run("compare", "async", "threads", "--n", "4")
    assert (crashed.returncode, crashed.stdout) == (3, "")
    said, *log = crashed.stderr.splitlines()
    assert said.startswith("rig: threads ended (exit status 1) before it was ready: ImportError: waitress was built")
    assert log[0].startswith("Traceback")
    assert not broken_place.servers()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_the_servers_start(place: Place, number: signal.Signals) -> None:
    with place.running("compare", "threads", "gthread:workers=2", "async", "--n", "4") as rig:
        assert eventually(place.servers)
        assert interrupt(rig, number) == ("", "")
        assert rig.returncode == 130
        assert eventually(lambda: not place.servers())


def test_interrupted_in_mid_run(place: Place, tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    with place.running("compare", "async", "gthread", *ENDLESS, "--samples", str(samples)) as rig:
        assert eventually(lambda: place.served() > 20)
        stdout, stderr = interrupt(rig)
    assert (rig.returncode, stderr) == (130, "")
    report = parse_report(stdout)
    (run,) = report.blocks[0].runs
    assert run.figures["ok"]
    assert set(run.failures) == {"cancelled"}
    # The wall and p50 of a run that was cut off are no medians; a profile that had no turn has none either.
    assert [row[1:4] for row in report.table[1:]] == [["n/a"] * 3] * 2
    assert report.blocks[1].runs == []
    assert len(samples.read_text().splitlines()) == 1 + 200_000
    place.assert_empty()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_between_two_runs(place: Place, number: signal.Signals) -> None:
    arguments = ["async", "async", "--path", "/json", "--n", "4", "--runs", "2", "--pause", "60s"]
    with place.running("compare", *arguments) as rig:
        assert eventually(lambda: place.served() == 4 and not connected(rig))
        stdout, stderr = interrupt(rig, number)
    assert (rig.returncode, stderr) == (130, "")
    first, second = parse_report(stdout).blocks
    assert [(run.run, run.figures["ok"]) for run in first.runs] == [(1, 4)]
    assert second.runs == []
    place.assert_empty()


def connected(rig: subprocess.Popen[str]) -> bool:
    return any(one.status == psutil.CONN_ESTABLISHED for one in psutil.Process(rig.pid).net_connections("tcp"))


def test_second_ctrl_c_takes_no_results_along(place: Place) -> None:
    """While a request is being worked on, gunicorn takes a second to stop: time enough to be impatient."""
    with place.running("compare", "gthread:threads=4", "--path", "/sleep?ms=60000", "--n", "4") as rig:
        assert eventually(lambda: place.in_flight() == 4)
        rig.send_signal(signal.SIGINT)
        assert rig.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].endswith("not seen\n"):
            lines.append(rig.stdout.readline())
            assert lines[-1], f"the output ended after {lines}"
        # It is printed before the servers are stopped, not after.
        assert place.servers()
        assert interrupt(rig) == ("", "")
        assert rig.returncode == 130
        (run,) = parse_report("".join(lines)).blocks[0].runs
        assert run.failures == {"cancelled": 4}
        assert eventually(lambda: not place.servers())


def test_killed_rig_leaves_no_server(place: Place) -> None:
    with place.running("compare", "threads:threads=4", "gthread:workers=2", *ENDLESS) as rig:
        assert eventually(lambda: place.served() > 20)
        servers = place.servers()
        assert len(servers) == 4
        rig.kill()
        _, alive = psutil.wait_procs(servers, timeout=10)
        assert not alive


def test_killed_server_is_a_failure_of_its_own_runs_alone(place: Place) -> None:
    load = ["--path", "/sleep?ms=5", "--n", "1000", "-c", "4", "--runs", "2"]
    with place.running("compare", "gthread:threads=4", "async", *load) as rig:
        assert eventually(lambda: place.served() > 20)
        master = place.server("servers.launch.gunicorn")
        (worker,) = master.children()
        worker.kill()  # of which the master writes to its log
        assert eventually(lambda: any("SIGKILL" in log.read_text() for log in place.path.glob("*/server.log")))
        os.kill(master.pid, signal.SIGKILL)
        stdout, stderr = rig.communicate(timeout=PATIENCE_S)
    assert rig.returncode == 0
    said, *tail = stderr.splitlines()
    assert said == "rig: gthread:threads=4 ended by itself; the end of its log:"
    assert "SIGKILL" in "\n".join(tail)
    assert "Traceback" not in stderr
    killed, other = parse_report(stdout).blocks
    assert killed.runs[0].figures["ok"]
    assert set(killed.runs[0].failures) <= {"reset", "closed", "stale", "refused"}
    assert killed.runs[1].failures == {"refused": 1000}
    assert [run.figures["ok"] for run in other.runs] == [1000, 1000]
    assert not place.servers()


@pytest.mark.parametrize("arguments", ["profiles", "compare async --path /json --n 4"])
def test_reader_that_has_gone_makes_no_noise(place: Place, arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with place.running(*arguments.split(), stdout=writing) as rig:
        os.close(writing)
        _, stderr = rig.communicate(timeout=PATIENCE_S)
        assert stderr == ""
        assert rig.returncode != 0
    place.assert_empty()
