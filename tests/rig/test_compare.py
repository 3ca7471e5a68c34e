"""`rig compare`: what it prints, in each format, of real servers measured in turns."""

from __future__ import annotations

import csv
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import jsonschema
import pytest

from tests.rig.support import COMPARISON_SCHEMA, Block, Place, Report, Terminal, parse_report

FAST = ["--path", "/sleep?ms=100", "--n", "6", "--over", "150ms"]
"""A limit of 2 takes three waves of which two are late, by 50 ms: noise can make more requests late, not fewer."""

CSV_HEADER = (
    "profile,run,request,due_ns,begun_ns,connected_ns,first_byte_ns,done_ns,bytes_in,status,outcome,reused,resent"
)


@dataclass(frozen=True, slots=True)
class Printed:
    stdout: str
    shown: str
    """On the terminal that stderr was."""
    samples: list[dict[str, str]]

    @property
    def report(self) -> Report:
        return parse_report(self.stdout)

    @property
    def turns(self) -> list[str]:
        """The runs in the order in which the progress line named them."""
        named = re.findall(r"(\S+ (?:run \d+|warm-up)) \(\d+ of \d+\)", self.shown)
        return [turn for index, turn in enumerate(named) if index == 0 or turn != named[index - 1]]


def on_terminal(folder: Path, *arguments: str) -> Printed:
    """What a comparison prints whose stderr is a terminal, and its samples; nothing may be left of it."""
    place = Place(folder)
    samples = folder / "samples.csv"
    with Terminal() as terminal:
        ended = place.run("compare", *arguments, *FAST, "--samples", str(samples), stderr=terminal.theirs)
    assert ended.returncode == 0
    place.assert_empty()
    with samples.open(newline="") as file:
        assert file.readline().rstrip("\n") == CSV_HEADER
        rows = list(csv.DictReader(file, CSV_HEADER.split(",")))
    return Printed(ended.stdout, terminal.text, rows)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    specs = ["threads:threads=2,backlog=50", "async:workers=2", "async-threadpool"]
    return on_terminal(tmp_path_factory.mktemp("text"), *specs, "--runs", "2")


@pytest.fixture(scope="module")
def sequential(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """JSON, and a warm-up run besides."""
    arguments = ["greenlets", "threads:threads=2", "--runs", "2", "--warmup", "1", "--sequential"]
    return on_terminal(tmp_path_factory.mktemp("json"), *arguments, "--output-format", "json")


@pytest.fixture(scope="module")
def document(sequential: Printed) -> Any:
    return json.loads(sequential.stdout)


def test_blocks_stand_in_the_order_given(text: Printed) -> None:
    assert [(block.spec, block.server.partition(";")[0], block.args) for block in text.report.blocks] == [
        ("threads:threads=2,backlog=50", "waitress, WSGI", "--threads=2 --backlog=50"),
        ("async:workers=2", "uvicorn, Starlette async def", "--workers=2"),
        ("async-threadpool", "uvicorn, Starlette plain def", ""),
    ]
    for block in text.report.blocks:
        assert [(run.n, run.run) for run in block.runs] == [(6, 1), (6, 2)]


def test_figures_of_a_run(text: Printed) -> None:
    for run in (run for block in text.report.blocks for run in block.runs):
        figures = run.figures
        assert {name: figures[name] for name in ("requests", "concurrency", "ok", "failed", "over_ms")} == {
            "requests": 6,
            "concurrency": 6,
            "ok": 6,
            "failed": 0,
            "over_ms": 150,
        }
        assert figures["min_ms"] is not None
        assert figures["min_ms"] >= 98
    threads = text.report.blocks[0]
    for run in threads.runs:
        assert run.figures["wall_ms"] is not None
        assert run.figures["wall_ms"] >= 299
        assert run.figures["over"] is not None
        assert run.figures["over"] >= 4


def test_table_has_medians_and_differences_to_the_first(text: Printed) -> None:
    heading, *rows = text.report.table
    assert heading == ["profile", "median wall_ms", "median p50_ms", "median over150ms", "limited by"]
    assert [row[0] for row in rows] == ["threads:threads=2,backlog=50", "async:workers=2", "async-threadpool"]
    assert rows[0][-1].startswith("2 requests at once")
    assert all(row[-1] for row in rows)
    base = [int(cell) for cell in rows[0][1:4]]
    for row, block in zip(rows, text.report.blocks, strict=True):
        for column, name in enumerate(("wall_ms", "p50_ms", "over")):
            shown = re.fullmatch(r"(\d+)(?: \(([+-]\d+)\))?", row[1 + column])
            assert shown
            # Rounded once more than the lines above are.
            assert abs(int(shown[1]) - median_of(block, name)) <= 1
            if block is text.report.blocks[0] or row is rows[0]:
                assert shown[2] is None
            else:
                assert int(shown[2]) == int(shown[1]) - base[column]


def median_of(block: Block, name: str) -> float:
    return median(value for value in (run.figures[name] for run in block.runs) if value is not None)


@pytest.mark.parametrize(
    ("printed", "turns"),
    [
        (
            "text",
            [
                "threads:threads=2,backlog=50 run 1",
                "async:workers=2 run 1",
                "async-threadpool run 1",
                "threads:threads=2,backlog=50 run 2",
                "async:workers=2 run 2",
                "async-threadpool run 2",
            ],
        ),
        (
            "sequential",
            [
                "greenlets warm-up",
                "greenlets run 1",
                "greenlets run 2",
                "threads:threads=2 warm-up",
                "threads:threads=2 run 1",
                "threads:threads=2 run 2",
            ],
        ),
    ],
)
def test_runs_are_taken_in_turns_or_one_profile_after_the_other(
    printed: str, turns: list[str], request: pytest.FixtureRequest
) -> None:
    # By the progress line, which is there because stderr is a terminal.
    assert request.getfixturevalue(printed).turns == turns


@pytest.mark.parametrize("printed", ["text", "sequential"])
def test_samples_have_a_row_a_request(printed: str, request: pytest.FixtureRequest) -> None:
    """In any format; none of a warm-up run."""
    result: Printed = request.getfixturevalue(printed)
    specs = list(dict.fromkeys(turn.split(" ")[0] for turn in result.turns))
    assert [(row["profile"], row["run"], row["request"]) for row in result.samples] == [
        (spec, str(run), str(number)) for spec in specs for run in (1, 2) for number in range(6)
    ]
    for row in result.samples:
        assert (row["outcome"], row["status"], row["reused"]) == ("ok", "200", "0")
        times = [int(row[name]) for name in ("due_ns", "begun_ns", "connected_ns", "first_byte_ns", "done_ns")]
        assert times == sorted(times)


def test_json_is_as_the_schema_says(document: Any) -> None:
    jsonschema.validate(document, COMPARISON_SCHEMA)
    assert [(entry["profile"], entry["args"], entry["concurrency_limit"]) for entry in document["profiles"]] == [
        ("greenlets", "", None),
        ("threads:threads=2", "--threads=2", 2),
    ]
    for entry in document["profiles"]:
        assert [run["run"] for run in entry["runs"]] == [1, 2]
        for run in entry["runs"]:
            assert (run["requests"], run["ok"], run["failed"], run["failures"]) == (6, 6, 0, {})
            assert run["wall_ms"] >= run["max_ms"] >= run["p50_ms"] >= run["min_ms"] >= 98
            assert (run["over_ms"], run["interrupted"]) == (150, False)


def test_json_compares_each_with_the_first(document: Any) -> None:
    base, other = document["profiles"]
    (comparison,) = document["comparisons"]
    assert (comparison["base"], comparison["profile"]) == ("greenlets", "threads:threads=2")
    for key, figure in (("median_wall_ms", "wall_ms"), ("median_p50_ms", "p50_ms"), ("median_over", "over")):
        pair = comparison[key]
        assert pair["base"] == pytest.approx(median(run[figure] for run in base["runs"]), abs=0.002)
        assert pair["profile"] == pytest.approx(median(run[figure] for run in other["runs"]), abs=0.002)
        assert pair["difference"] == pytest.approx(pair["profile"] - pair["base"], abs=0.002)


def test_each_is_held_against_the_first(text: Printed) -> None:
    """By their changes alone: two runs are too few for more."""
    heading, *rows = text.report.against
    assert heading == ["against threads:threads=2,backlog=50", "wall", "p50", "p99", "throughput", "failed"]
    assert [row[0] for row in rows] == ["async:workers=2", "async-threadpool"]
    for row in rows:
        assert all(re.fullmatch(r"[+-]\d+\.\d%|0%|n/a", cell) for cell in row[1:])
    for spec in ("async:workers=2", "async-threadpool"):
        assert any(note.startswith(f"{spec}: too few runs to tell (") for note in text.report.notes)


def test_json_says_what_a_comparison_comes_to(document: Any) -> None:
    (comparison,) = document["comparisons"]
    left_out = [run["side"] for run in comparison["left_out"]]
    for name, figure in comparison["figures"].items():
        assert figure["base"]["runs"] == 2 - left_out.count("base"), name
        assert figure["profile"]["runs"] == 2 - left_out.count("profile"), name
        assert (figure["p"], figure["verdict"]) == (None, "too few runs to tell")
    assert comparison["fail_if"] == []


def test_a_bound_that_is_not_passed_is_exit_1(place: Place) -> None:
    """Waits five times as long; only runs in which the generator was quick enough count, so there are some to spare."""
    arguments = ["compare", "calibrated:service_ms=20", "calibrated:service_ms=100", "--path", "/sleep", "--n", "10"]
    bounds = ["--fail-if", "p99 worse by 50%", "--fail-if", "failed worse"]
    ended = place.run(*arguments, "--runs", "8", *bounds)
    report = parse_report(ended.stdout)
    assert (ended.returncode, ended.stderr) == (1, "")
    slower, failures = report.fail_if
    assert slower.startswith("fail-if: calibrated:service_ms=100, p99 worse by 50%: ")
    if "too few runs to tell" in slower:
        assert "not judged" in slower
        assert any("left out: the generator was the bottleneck" in note for note in report.notes)
    else:
        assert re.search(r": failed, \+\d+\.\d% \(p[=<]", slower)
        assert failures.endswith("failed worse: passed, no difference seen, 0% (p=1)")
        assert re.search(r" worse$", report.against[1][3])
    place.assert_empty()


def test_a_format_without_place_for_bounds_tells_them_on_stderr(place: Place) -> None:
    ended = place.run(
        "compare", "async", "async", "--path", "/json", "--n", "5", "--output-format", "csv", "--fail-if", "p50 worse"
    )
    assert ended.returncode == 1
    assert ended.stdout.startswith(CSV_HEADER)
    assert re.fullmatch(r"fail-if: async, p50 worse: not judged, too few runs to tell \(.+\)\n", ended.stderr)


def test_csv_to_a_file_and_nothing_else_anywhere(place: Place, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    ended = place.run(
        "compare", "async", "async", "--path", "/json", "--n", "5", "-c", "2", "--output-format", "csv",
        "--output", str(output),
    )  # fmt: skip
    # No progress either: stderr is no terminal.
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    lines = output.read_text().splitlines()
    assert lines[0] == CSV_HEADER
    # The same profile twice has two names, so that `loadgen explain` can tell its runs apart.
    rows = [[name, "1", str(number)] for name in ("async", "async (2)") for number in range(5)]
    assert [line.split(",")[:3] for line in lines[1:]] == rows
    place.assert_empty()


def test_main_job_comes_out_and_is_quick(place: Place) -> None:
    begun = time.monotonic()
    ended = place.run("compare", "threads", "threads:threads=400", "async", "--n", "400", "--runs", "1")
    taken_s = time.monotonic() - begun
    assert (ended.returncode, ended.stderr) == (0, "")
    report = parse_report(ended.stdout)
    assert [block.args for block in report.blocks] == ["", "--threads=400", ""]
    assert [block.runs[0].figures["over"] for block in report.blocks] == [200, 0, 0]
    assert [row[3] for row in report.table] == ["median over1500ms", "200", "0 (-200)", "0 (-200)"]
    assert taken_s < 30
    place.assert_empty()


def test_every_request_failing_is_exit_3(place: Place) -> None:
    ended = place.run("compare", "async", "--path", "/nothing", "--n", "3")
    assert (ended.returncode, ended.stderr) == (3, "")
    report = parse_report(ended.stdout)
    (run,) = report.blocks[0].runs
    assert run.failures == {"http-4xx": 3}
    assert run.figures["p50_ms"] is None
    assert report.table[1][:3] == ["async", "n/a", "n/a"]
    place.assert_empty()


def test_a_pool_behind_the_handler_is_told_from_a_limit_before_it(place: Place, tmp_path: Path) -> None:
    """The pool of /downstream has 20 places, the other server's threads are 10."""
    samples = tmp_path / "samples.csv"
    ended = place.run(
        "compare", "async", "threads:threads=10", "--path", "/downstream?ms=200", "--n", "60", "--server-timing",
        "--output-format", "json", "--samples", str(samples),
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    runs = [profile["runs"][0] for profile in json.loads(ended.stdout)["profiles"]]
    for run in runs:
        assert [(name, took["count"]) for name, took in run["server_timing"].items()] == [("acquire", 60), ("work", 60)]
    inside, outside = (
        next(found for found in run["findings"] if found["cause"] == "concurrency-limit") for run in runs
    )
    assert inside["limit"] == 20
    assert "the limit of 20 lies behind `acquire`" in inside["sentence"]
    assert outside["limit"] == 10
    assert "were outside them, as in a queue before the handler" in outside["sentence"]
    assert samples.read_text().splitlines()[0] == f"{CSV_HEADER},server_timing_ns"
    place.assert_empty()
