"""The commands `rig tasks` and `rig thread-cost`, as a user calls them."""

from __future__ import annotations

import csv
import json
import re
import resource
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from loadgen.store import CSV_HEADER
from tests.rig.support import Place, interrupt
from tests.servers.support import eventually
from tests.support import run_script


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def carried_out(place: Place, line: str) -> subprocess.CompletedProcess[str]:
    return place.run(*line.split())


def test_text(place: Place) -> None:
    shown = place.run(
        *["tasks", "--work", "sleep:50ms", "--tasks", "20", "--on", "pool:10,asyncio", "--warmup", "1", "--runs", "2"]
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    number = r" *\d+\.\d+"
    form = rf"I/O wait / %s +median={number} ms, throughput={number} tasks/s, all=\[\d+\.\d\d, \d+\.\d\d\]"
    lines = shown.stdout.splitlines()
    assert re.fullmatch(form % r"pool\(10\)", lines[0])
    assert any(re.fullmatch(form % "asyncio", line) for line in lines)
    assert lines[-1].startswith("20 tasks that wait 50 ms went through 10 threads in 2 rounds, about ")


def test_json_rows_and_output(place: Place, tmp_path: Path) -> None:
    out, samples = tmp_path / "out.json", tmp_path / "rows.csv"
    options = f"--warmup 0 --runs 2 --output-format json -o {out} --samples {samples}"
    shown = carried_out(place, f"tasks --work cpu:100 --tasks 3 --on pool:2,asyncio {options}")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
    data = json.loads(out.read_text())
    assert data["schema"] == "tasks/1"
    assert data["plan"]["work"] == "cpu:100"
    assert [entry["name"] for entry in data["executors"]] == ["pool(2)", "asyncio"]
    assert [run["run"] for entry in data["executors"] for run in entry["runs"]] == [1, 2, 1, 2]
    header, *rows = csv.reader(samples.read_text().splitlines())
    assert header == ["executor", *CSV_HEADER]
    assert len(rows) == 2 * 2 * 3
    assert {row[0] for row in rows} == {"pool:2", "asyncio"}


def test_thread_cost(place: Place) -> None:
    shown = place.run(
        *["thread-cost", "--counts", "5,50", "--of", "asyncio", "--rounds", "1", "--output-format", "json"]
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    data = json.loads(shown.stdout)
    assert data["schema"] == "thread-cost/1"
    assert [(cost["kind"], cost["count"]) for cost in data["costs"]] == [("asyncio", 5), ("asyncio", 50)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("tasks --work nap:1s", "work 'nap:1s' is not accepted: sleep:TIME, cpu:STEPS or spin:TIME"),
        ("tasks --work sleep:0.5ms", "sleep takes 1ms to 10m, in whole milliseconds"),
        ("tasks --work sleep:50", "duration '50' is not accepted: write a number and a unit, as in 1500ms"),
        ("tasks --work spin:50", "duration '50' is not accepted: write a number and a unit, as in 1500ms"),
        ("tasks --work sleep:1y", "duration '1y' is not accepted"),
        ("tasks --work cpu:0", "cpu takes 1 to 10,000,000,000 steps"),
        ("tasks --work sleep:1s --on pol:3", "no executor 'pol:3', did you mean pool? executors: pool:K, thread-each,"),
        ("tasks --work sleep:1s --on pool", "executor 'pool' is not accepted: write it as pool:K, with K from 1 to"),
        ("tasks --work sleep:1s --on asyncio:3", "executor 'asyncio:3' is not accepted: asyncio takes no number"),
        ("tasks --work sleep:1s --on asyncio,asyncio", "--on names asyncio twice"),
        ("tasks --work sleep:1s --tasks 0", "0 tasks are not accepted: --tasks takes 1 to 100000"),
        ("tasks --work sleep:1s --runs 0", "0 runs are not accepted: --runs takes 1 to 1000"),
        ("tasks --work sleep:1s --tasks 9 --samples rows.json", "--samples rows.json: the name must end in .csv"),
        ("thread-cost --counts 10,x", "--counts '10,x' is not accepted: it takes whole numbers"),
        (f"thread-cost --counts {'9' * 5000}", "is not accepted: it takes whole numbers, as in 10,100,1000"),
        ("thread-cost --of fibres", "kind 'fibres' is not accepted: --of takes threads, asyncio, greenlets"),
        ("thread-cost --rounds 0", "0 rounds are not accepted: --rounds takes 1 to 1000"),
    ],
)
def test_misuse_is_one_line(place: Place, arguments: str, says: str) -> None:
    refused = place.run(*arguments.split())
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("rig: ")
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_prints_what_was_measured_and_leaves_no_process(place: Place, number: signal.Signals) -> None:
    arguments = "tasks --work sleep:200ms --tasks 8 --on pool:8,processes:4,thread-each --warmup 0 --runs 1000"
    with place.running(*arguments.split()) as process:
        assert eventually(lambda: len(carrying_out(process)) >= 3 and has_forked(process))
        below = psutil.Process(process.pid).children(recursive=True)
        out, errors = interrupt(process, number)
    assert process.returncode == 130
    assert errors == "rig: takes about 13 minutes\n"
    assert out == "" or out.startswith("I/O wait / pool(8)")
    assert eventually(lambda: not any(child.is_running() and child.status() != "zombie" for child in below))


def test_killed_leaves_no_process(place: Place) -> None:
    arguments = "tasks --work sleep:60s --tasks 8 --on processes:4,thread-each --warmup 0 --runs 1"
    with place.running(*arguments.split()) as process:
        assert eventually(lambda: has_forked(process))
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        assert eventually(lambda: not any(child.is_running() and child.status() != "zombie" for child in below))


def test_too_few_descriptors_are_said_in_one_line_and_leave_no_process() -> None:
    """A pool is half made then, and its processes would hold the measuring process's output open for ever."""
    refused = run_script(
        "rig",
        *["tasks", "--work", "sleep:5ms", "--tasks", "60", "--on", "processes:60", "--warmup", "0", "--runs", "1"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    )
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr == "rig: sleep:5ms processes:60: [Errno 24] Too many open files\n"


def carrying_out(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The measuring processes."""
    return psutil.Process(process.pid).children()


def has_forked(process: subprocess.Popen[str]) -> bool:
    """Whether a pool's processes are there."""
    return len(psutil.Process(process.pid).children(recursive=True)) > len(carrying_out(process)) >= 2
