"""`rig compare` and `loadgen`: what they show of resources, and that nothing that looks outlives them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.rig.support import Place, parse_report
from tests.servers.support import eventually
from tests.support import Server, run_script

FAST = ("--path", "/sleep?ms=200", "--n", "20")


def test_text_has_the_peaks_of_each_server(tmp_path: Path) -> None:
    ended = Place(tmp_path).run("compare", "threads:threads=5", "processes", *FAST)
    assert ended.returncode == 0
    threads, processes = (block.runs[0].server for block in parse_report(ended.stdout).blocks)
    assert 6 <= int(threads["threads"]) <= 8
    assert threads["queue_limit"] == "1024"
    assert processes["threads"] == "3"
    assert int(processes["memory"]) > int(threads["memory"])


def test_nothing_is_looked_at_where_it_is_not_asked_for(tmp_path: Path) -> None:
    ended = Place(tmp_path).run("compare", "async", *FAST, "--no-resources")
    assert "server: " not in ended.stdout
    ended = Place(tmp_path).run("compare", "async", *FAST, "--no-resources", "--output-format", "json")
    assert json.loads(ended.stdout)["profiles"][0]["runs"][0]["resources"] is None


def test_evidence_is_kept_beside_the_samples(tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    Place(tmp_path).run("compare", "async", *FAST, "--samples", str(samples))
    (run,) = json.loads((tmp_path / "samples.evidence.json").read_text())["runs"]
    assert run["server"]["peak_cpu_percent"] >= 0
    assert isinstance(run["server"]["collections"], list)


def test_stall_that_was_a_garbage_collection_is_said_to_be_one(tmp_path: Path) -> None:
    program = Path(__file__).with_name("collecting_server.py")
    samples = tmp_path / "samples.csv"
    ended = Place(tmp_path).run(
        "compare", "--cmd", f"{sys.executable} {program} {{port}}", "--path", "/", "-n", "800", "-c", "16",
        "--output-format", "json", "--samples", str(samples),
    )  # fmt: skip
    run = json.loads(ended.stdout)["profiles"][0]["runs"][0]
    assert run["resources"]["server"]["gc_pause_ms"] > 290
    stall = _stall(run)
    assert "collected garbage from" in stall["sentence"]
    (begin, end), *_ = stall["evidence"]["collections_ms"]
    assert 290 < end - begin < 2000
    assert any(begin - 50 < stand_still < end for stand_still, _ in stall["evidence"]["stretches_ms"])
    again = run_script("loadgen", "explain", str(samples))
    assert "collected garbage from" in again.stdout


def test_stall_without_garbage_is_not_said_to_be_one(tmp_path: Path) -> None:
    ended = Place(tmp_path).run(
        "compare",
        "calibrated:service_ms=20,jitter_ms=8,stall=800/300",
        "-n",
        "800",
        "-c",
        "16",
        "--output-format",
        "json",
    )
    stall = _stall(json.loads(ended.stdout)["profiles"][0]["runs"][0])
    assert "it collected no garbage meanwhile" in stall["sentence"]
    assert stall["evidence"]["collections_ms"] == []


def test_loadgen_looks_at_who_listens(tmp_path: Path) -> None:
    with Server() as server:
        ended = run_script("loadgen", server.url("/sleep/200"), "--n", "10", "--output-format", "json")
    resources = json.loads(ended.stdout)["runs"][0]["resources"]
    assert resources["server"]["threads"] >= 2  # the test's own process
    assert resources["client"]["rss_bytes"] > 10e6
    assert resources["client"]["queue"] is None


def test_workers_are_the_generators(tmp_path: Path) -> None:
    with Server() as server:
        ended = run_script(
            "loadgen", server.url("/sleep/200"), "--n", "10", "--workers", "2", "--output-format", "json"
        )
    client = json.loads(ended.stdout)["runs"][0]["resources"]["client"]
    assert client["threads"] >= 3


def test_sampler_ends_with_rig_that_is_killed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.running("compare", "async", "--path", "/sleep?ms=30000", "--n", "4") as process:
        assert eventually(lambda: place.in_flight() == 4)
        (sampler,) = (
            child for child in psutil.Process(process.pid).children() if "loadgen.resources.sampler" in child.cmdline()
        )
        process.kill()
        assert eventually(lambda: not sampler.is_running() or sampler.status() == psutil.STATUS_ZOMBIE)


def _stall(run: dict[str, Any]) -> dict[str, Any]:
    stalls: list[dict[str, Any]] = [finding for finding in run["findings"] if finding["cause"] == "stall"]
    assert len(stalls) == 1, run["findings"]
    return stalls[0]
