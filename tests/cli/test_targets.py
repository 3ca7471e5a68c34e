"""Several targets, from the command line to text, JSON and rows."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import jsonschema

from loadgen.store import CSV_HEADER, read_csv, read_json
from tests.cli.conftest import Loadgen
from tests.document_schema import DOCUMENT
from tests.support import Server


def test_urls_with_weights(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/a"), server.url("/b/{seq}"), "--weights", "3,1", "-n", "40", "-c", "4")
    assert ended.returncode == 0
    assert f"2 targets of http://127.0.0.1:{server.port} at" in ended.stderr
    figures = r"p50_ms=\d+ p99_ms=\d+ max_ms=\d+"
    first, second = ended.stdout.splitlines()[2:4]
    assert re.fullmatch(rf"target 1 GET /a: requests=30 ok=30 failed=0 {figures}", first)
    assert re.fullmatch(rf"target 2 GET /b/\{{seq\}}: requests=10 ok=10 failed=0 {figures}", second)
    paths = Counter(re.sub(r"\d+", "N", request.path) for request in server.received)
    assert paths == {"/a": 30, "/b/N": 10}


def test_a_file_of_targets_in_json_and_in_rows(loadgen: Loadgen, server: Server, tmp_path: Path) -> None:
    file, rows = tmp_path / "targets.txt", tmp_path / "rows.csv"
    file.write_text(
        'GET /a 2\n{"url": "/b", "method": "PUT", "headers": {"Authorization": "Bearer x"}, "body": "n={seq}"}\n'
    )
    ended = loadgen(
        server.url("/"), "--targets", str(file), "-n", "6", "-c", "1", "--samples", str(rows), "--output-format", "json"
    )
    document = json.loads(ended.stdout)
    jsonschema.validate(document, DOCUMENT)
    first, second = document["plan"]["targets"]
    assert (first["url"], first["method"], first["weight"]) == (server.url("/a"), "GET", 2)
    assert (second["method"], second["body_bytes"]) == ("PUT", len("n={seq}"))
    assert second["headers"] == [["Authorization", "(redacted)"]]
    assert "Bearer" not in ended.stdout
    (run,) = document["runs"]
    assert [(figures["target"], figures["ok"]) for figures in run["targets"]] == [(1, 4), (2, 2)]
    assert sum(figures["requests"] for figures in run["targets"]) == run["requests"] == 6
    with rows.open(newline="") as opened:
        assert tuple(next(csv.reader(opened))) == (*CSV_HEADER, "target")
    with rows.open(newline="") as opened:
        assert read_csv(opened)[1].target.tolist() == [1, 2, 1, 1, 2, 1]
    assert [request.body for request in server.received if request.method == "PUT"] == [b"n=1", b"n=4"]
    again = loadgen("explain", str(rows))
    assert again.returncode == 0


def test_rows_as_json_and_as_csv_have_the_target(loadgen: Loadgen, server: Server, tmp_path: Path) -> None:
    samples = tmp_path / "samples.json"
    ended = loadgen(
        server.url("/a"), server.url("/b"), "-n", "4", "-c", "1", "--output-format", "csv", "--samples", str(samples)
    )
    assert [line.rpartition(",")[2] for line in ended.stdout.splitlines()] == ["target", "1", "2", "1", "2"]
    with samples.open() as opened:
        assert read_json(opened)[1].target.tolist() == [1, 2, 1, 2]


def test_one_target_is_as_it_always_was(loadgen: Loadgen, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "targets.txt"
    file.write_text("GET /only\n")
    ended = loadgen(server.url("/"), "--targets", str(file), "-n", "3")
    assert "target" not in ended.stdout
    assert {request.path for request in server.received} == {"/only"}
    document = json.loads(loadgen(server.url("/x"), "-n", "1", "--output-format", "json").stdout)
    assert document["plan"]["targets"] == document["runs"][0]["targets"] == []


def test_failures_of_a_target_stand_in_its_line(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/a"), server.url("/close"), "-n", "8", "--quiet")
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("target 2 ")]
    assert line == "target 2 GET /close: requests=4 ok=0 failed=4 p50_ms=n/a p99_ms=n/a max_ms=n/a closed=4"


def test_of_very_many_targets_text_shows_the_first(loadgen: Loadgen, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "targets.txt"
    file.write_text("".join(f"/{number}\n" for number in range(50)))
    lines = loadgen(server.url("/"), "--targets", str(file), "-n", "50", "-c", "1", "--quiet").stdout.splitlines()
    assert lines[21].startswith("target 20 GET /19: ")
    assert lines[22] == "targets 21 to 50: in --output-format json"
    assert [request.path for request in server.received] == [f"/{number}" for number in range(50)]


def test_a_bad_line_is_told_by_its_number(loadgen: Loadgen, tmp_path: Path) -> None:
    file = tmp_path / "targets.txt"
    file.write_text("GET /a\nGET b\n")
    ended = loadgen("http://127.0.0.1:1/", "--targets", str(file))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"loadgen: {file} line 2: 'GET b' is not accepted: write GET /path")
    assert len(ended.stderr.splitlines()) == 1


def test_an_unknown_name_fails_the_requests_of_each_target(loadgen: Loadgen) -> None:
    ended = loadgen("http://nowhere.invalid/a", "http://nowhere.invalid/b", "-n", "4", "--quiet")
    assert ended.returncode == 3
    assert len(re.findall(r"^target \d GET /[ab]: requests=2 ok=0 failed=2 .* dns=2$", ended.stdout, re.M)) == 2
