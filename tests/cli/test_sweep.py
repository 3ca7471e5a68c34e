"""`loadgen sweep` and `--slo`, also against a server of known capacity: 20 places of 100 ms, 200 requests a second."""

from __future__ import annotations

import csv
import io
import json
import signal
from collections.abc import Iterator

import jsonschema
import pytest

from servers.catalog import parse_spec
from servers.process import start
from tests.cli.conftest import Loadgen
from tests.document_schema import DOCUMENT, RUN
from tests.support import PATIENCE_S, Server, start_script

CAPACITY = 200
SEARCH_PATIENCE_S = 90.0
"""On a busy machine each of its steps may be tried three times."""


@pytest.fixture(scope="module")
def calibrated() -> Iterator[str]:
    with start(parse_spec("calibrated:limit=20,service_ms=100")) as running:
        yield f"{running.url}/sleep"


def test_users_flatten_where_the_places_are_taken(loadgen: Loadgen, calibrated: str) -> None:
    ended = loadgen(
        "sweep", calibrated, "-c", "4,8,16,32,64", "-z", "1s", "--pause", "100ms", "--all", "--output-format", "json",
    )  # fmt: skip
    assert ended.returncode == 0
    document = json.loads(ended.stdout)
    assert document["schema"] == "loadgen-sweep/1"
    assert document["result"]["sentence"]
    assert {step["users"] for step in document["steps"]} == {4, 8, 16, 32, 64}
    for step in document["steps"]:
        jsonschema.validate({key: step[key] for key in step if key not in ("users", "kept_up")}, RUN)
    if all(step["trusted"] for step in document["steps"]):  # a busy machine may spoil any of them
        assert 15 <= document["result"]["value"] <= 25


def test_rates_are_not_kept_up_with_beyond_the_capacity(loadgen: Loadgen, calibrated: str) -> None:
    ended = loadgen(
        "sweep", calibrated, "--rate", "100,400", "-z", "2s", "--pause", "100ms", "--all", "--output-format", "json",
    )  # fmt: skip
    assert ended.returncode == 0
    document = json.loads(ended.stdout)
    for step in document["steps"]:
        assert step["kept_up"] is (step["rate_rps"] < CAPACITY if step["trusted"] else None)
    if all(step["trusted"] for step in document["steps"]):
        assert document["result"]["interval"] == [100, 400]


def test_a_search_ends_near_the_capacity(calibrated: str) -> None:
    with start_script(
        "loadgen", "sweep", calibrated, "--find", "p99<300ms", "--rate", "150..300", "-z", "1s", "--pause", "50ms",
        "--output-format", "json",
    ) as process:  # fmt: skip
        output, notes = process.communicate(timeout=SEARCH_PATIENCE_S)
    assert "Traceback" not in notes
    document = json.loads(output)
    if all(step["trusted"] for step in document["steps"]):
        assert process.returncode == 0
        assert 0.9 * CAPACITY <= document["result"]["value"] <= 1.1 * CAPACITY
        low, high = document["result"]["interval"]
        assert low < high


def test_too_few_steps_are_not_fitted_and_a_row_is_printed_for_each(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen("sweep", server.url("/sleep/20"), "-c", "1,2", "-z", "300ms", "--pause", "0", "--all")
    assert ended.returncode == 0
    heading, *rows, sentence = ended.stdout.splitlines()
    assert heading.split()[:3] == ["users", "rps", "p50_ms"]
    assert {row.split()[0] for row in rows} == {"1", "2"}
    assert "too few to tell" in sentence or "nothing to tell" in sentence


def test_steps_as_csv_have_a_row_each(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(
        "sweep", server.url(), "--rate", "100..200", "--steps", "2", "-z", "300ms", "--pause", "0", "--all",
        "--output-format", "csv",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(ended.stdout)))
    assert {row["rate_rps"] for row in rows} == {"100.0", "200.0"}
    assert all(int(row["requests"]) == int(row["ok"]) + int(row["failed"]) for row in rows)


def test_it_stops_where_everything_fails_and_says_so(loadgen: Loadgen, server: Server) -> None:
    arguments = ("sweep", server.url("/status/500"), "-c", "1,2,3", "-z", "200ms", "--pause", "0")
    ended = loadgen(*arguments)
    assert ended.returncode == 3
    assert "every request failed at 1 user," in ended.stderr
    assert len(ended.stdout.splitlines()) == 3
    assert len(loadgen(*arguments, "--all").stdout.splitlines()) == 5


def test_an_interrupted_sweep_prints_what_was_measured(server: Server) -> None:
    with start_script("loadgen", "sweep", server.url("/sleep/20"), "-c", "1,2", "-z", "1h", "--pause", "0") as process:
        server.wait_for_requests(10)
        process.send_signal(signal.SIGINT)
        output, notes = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in notes
    assert "interrupted" in output.splitlines()[1]


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("-c", "5,3"), ("--rate", "0..5"), ("-c", "5", "--rate", "5"), ("--find", "p98<1s"),
        ("--find", "p99<1s", "--steps", "3"), ("--find", "p99<1s", "-c", "5"), ("-c", "5", "-z", "soon"),
        ("-c", "1,2", "--steps", "2"), ("-c", "1,2", "--output-format", "hdr"),
    ],
)  # fmt: skip
def test_bad_input_of_a_sweep_is_one_line(loadgen: Loadgen, arguments: tuple[str, ...]) -> None:
    ended = loadgen("sweep", "http://127.0.0.1:1/", *arguments)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


def test_an_objective_that_is_missed_is_told_and_ends_with_1(loadgen: Loadgen, server: Server) -> None:
    arguments = (server.url("/sleep/50"), "-n", "4", "--slo", "min<10ms", "--slo", "failed<1%")
    ended = loadgen(*arguments)
    assert ended.returncode == 1
    assert [line.split(":")[0] for line in ended.stdout.splitlines()[-2:]] == ["slo", "slo"]
    assert "slo: min<10ms " in ended.stdout
    document = json.loads(loadgen(*arguments, "--output-format", "json").stdout)
    jsonschema.validate(document, DOCUMENT)
    missed, other = document["runs"][0]["objectives"]
    assert (missed["objective"], other["objective"]) == ("min<10ms", "failed<1%")
    assert missed["value"] >= 50
    assert not missed["met"]


def test_nothing_measured_is_not_a_missed_objective(loadgen: Loadgen, server: Server) -> None:
    assert loadgen(server.url("/status/500"), "-n", "3", "--slo", "failed<1%").returncode == 3


def test_an_objective_on_an_unknown_figure_lists_those_that_there_are(loadgen: Loadgen) -> None:
    ended = loadgen("http://127.0.0.1:1/", "--slo", "p98<200ms")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert "min, p50, p90, p95, p99, max, mean, wall" in ended.stderr
