from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from loadgen.samples import MISSING, Samples
from loadgen.store import CSV_HEADER, read_csv, read_json
from loadgen.summary import Times
from tests.cli.conftest import Loadgen
from tests.document_schema import DOCUMENT
from tests.support import BIN, PATIENCE_S, Server, script_environment, start_script

HEADING = r"-- N=(\d+) run (\d+)"
METRICS = (
    r"requests=(\d+) concurrency=(\d+) ok=(\d+) failed=(\d+) wall_ms=(\d+) min_ms=(\d+) p50_ms=(\d+) max_ms=(\d+)"
    r" over1500ms=(\d+)"
)


def test_text_is_a_heading_the_figures_and_why_for_each_run(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/sleep/30"), "--n", "5", "--runs", "2")
    assert ended.returncode == 0
    lines = [line for line in ended.stdout.splitlines() if not re.fullmatch(r"why: \S.*\.", line)]
    assert len(lines) == 4
    for number, (heading, figures) in enumerate(zip(lines[::2], lines[1::2], strict=True), 1):
        assert heading == f"-- N=5 run {number}"
        match = re.fullmatch(METRICS, figures)
        assert match is not None
        requests, concurrency, ok, failed, wall, least, median, most, _ = map(int, match.groups())
        assert (requests, concurrency, ok, failed) == (5, 5, 5, 0)
        assert 30 <= least <= median <= most <= wall
    assert len(server.received) == 10
    assert {request.method for request in server.received} == {"GET"}


def test_notes_go_to_stderr_and_name_the_address_once(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/x"), "--n", "2", "--runs", "2")
    assert ended.stderr == f"loadgen: GET {server.url('/x')} at 127.0.0.1:{server.port}\n"


def test_quiet_leaves_nothing_but_headings_and_figures(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url(), "--n", "2", "--quiet")
    assert ended.stderr == ""
    assert re.fullmatch(f"{HEADING}\n{METRICS}\n", ended.stdout)


def test_json_is_one_object_by_its_schema_and_nothing_else(loadgen: Loadgen, server: Server) -> None:
    url = server.url("/x?y=1")
    ended = loadgen(url, "-n", "6", "-c", "2", "--runs", "2", "--warmup", "1", "-H", "Authorization: Basic c2VjcmV0",
                    "--output-format", "json")  # fmt: skip
    assert ended.returncode == 0
    document = json.loads(ended.stdout)
    jsonschema.validate(document, DOCUMENT)
    assert document["plan"]["url"] == url
    assert document["plan"]["warmup"] == 1
    assert "c2VjcmV0" not in ended.stdout
    assert [run["run"] for run in document["runs"]] == [1, 2]
    assert [(run["ok"], run["failed"], run["concurrency"]) for run in document["runs"]] == [(6, 0, 2)] * 2
    assert len(server.received) == 18, "the warm-up run is carried out"


def test_csv_is_a_header_and_a_row_a_request(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url(), "-n", "4", "--runs", "2", "--output-format", "csv")
    header, *rows = csv.reader(io.StringIO(ended.stdout))
    assert tuple(header) == CSV_HEADER
    assert [row[:2] for row in rows] == [[run, request] for run in "12" for request in "0123"]
    assert {row[CSV_HEADER.index("outcome")] for row in rows} == {"ok"}


@pytest.mark.parametrize(("file_name", "read"), [("s.csv", read_csv), ("s.json", read_json)])
def test_the_samples_written_are_those_the_figures_come_from(
    loadgen: Loadgen, server: Server, tmp_path: Path, file_name: str, read: object
) -> None:
    path = tmp_path / file_name
    load = ("-n", "7", "-c", "3", "--runs", "2")
    ended = loadgen(server.url("/sleep/5"), *load, "--output-format", "json", "--samples", str(path))
    with path.open(newline="") as file:
        runs: dict[int, Samples] = read(file)  # type: ignore[operator]
    shown = {run["run"]: run for run in json.loads(ended.stdout)["runs"]}
    assert [*runs] == [*shown] == [1, 2]
    for number, samples in runs.items():
        times, figures = Times.of(samples.response_ns[samples.ok]), shown[number]
        for name in ("min", "p50", "p90", "p95", "p99", "max"):
            assert figures[f"{name}_ms"] == round(getattr(times, f"{name}_ns") / 1e6, 3)
        assert figures["wall_ms"] == round(int(samples.done.max()) / 1e6, 3)
        assert figures["bytes_in"] == samples.bytes_in.sum()
        assert (samples.connected != MISSING).sum() == 3
        assert samples.reused.sum() == 4


def test_output_goes_to_the_file_named(loadgen: Loadgen, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    ended = loadgen(server.url(), "-n", "2", "--quiet", "-o", str(path))
    assert ended.stdout == ""
    assert re.fullmatch(f"{HEADING}\n{METRICS}\n", path.read_text())


def test_help_has_examples_and_exit_codes(loadgen: Loadgen) -> None:
    ended = loadgen("--help")
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert "loadgen --n 400 --runs 5" in ended.stdout
    assert "130 interrupted" in ended.stdout
    for option in ("--n", "--concurrency", "--preconnect", "--timeout", "--samples", "--allow-remote", "--cacert"):
        assert option in ended.stdout


def test_version(loadgen: Loadgen) -> None:
    assert re.fullmatch(r"loadgen \d+\.\d+\.\d+\n", loadgen("--version").stdout)


# Streams


def output_on_a_terminal(*arguments: str, stdout_too: bool) -> tuple[str, str]:
    """What the script writes to a terminal on stderr, and to stdout where that is a pipe."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BIN / "loadgen", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs if stdout_too else subprocess.PIPE,
        stderr=theirs,
        env=script_environment(TERM="xterm", COLUMNS="120"),
    )
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:  # the other end is closed: EIO on Linux
        pass
    os.close(ours)
    piped = process.stdout.read() if process.stdout else b""
    if process.stdout:
        process.stdout.close()
    assert process.wait() == 0
    return shown.decode(), piped.decode()


def lines_left_on(terminal: str) -> list[str]:
    """The lines that a reader sees in the end, of what was written to a terminal that shows no more than one erased."""
    lines = []
    for line in terminal.replace("\x1b[1A", "\x1b[2K").split("\n"):
        visible = line.rpartition("\x1b[2K")[2]
        lines.append(re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|\r", "", visible))
    return lines


def test_progress_is_shown_on_a_terminal_and_stays_out_of_a_pipe(server: Server) -> None:
    shown, piped = output_on_a_terminal(server.url("/sleep/300"), "-n", "3", "--quiet", stdout_too=False)
    assert "run 1 (1 of 1)" in shown
    assert re.search(r"in flight +3", shown)
    assert re.fullmatch(f"{HEADING}\n{METRICS}\n", piped)


def test_results_on_a_terminal_stand_on_lines_of_their_own(server: Server) -> None:
    shown, _ = output_on_a_terminal(server.url("/sleep/300"), "-n", "3", "--runs", "2", "--quiet", stdout_too=True)
    lines = lines_left_on(shown)
    assert [line for line in lines if "run" in line and "of 2" not in line] == ["-- N=3 run 1", "-- N=3 run 2"]
    assert len([line for line in lines if re.fullmatch(METRICS, line)]) == 2


def test_no_progress_is_shown_in_a_pipe(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/sleep/300"), "-n", "2", "--quiet")
    assert ended.stderr == ""
    assert "\x1b" not in ended.stdout


@pytest.mark.parametrize("output_format", ["text", "json", "csv"])
def test_a_reader_that_goes_away_is_no_error_worth_a_word(server: Server, output_format: str) -> None:
    command = f"{BIN / 'loadgen'} {server.url()} --n 800 -c 20 --runs 2 --quiet --output-format {output_format}"
    ended = subprocess.run(
        ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    assert ended.stdout.count("\n") == 1
    assert ended.returncode in (0, 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("output_format", ["text", "csv"])
def test_a_full_disk_is_one_line_and_exit_3(loadgen: Loadgen, server: Server, output_format: str) -> None:
    arguments = (server.url(), "-n", "2", "--quiet", "--output-format", output_format)
    with Path("/dev/full").open("w") as full:
        ended = loadgen(*arguments, stdout=full)
    assert (ended.returncode, ended.stderr) == (3, "loadgen: output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("option", ["--output", "--samples"])
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_file_on_a_full_disk_is_one_line_with_its_name_and_exit_3(
    loadgen: Loadgen, server: Server, tmp_path: Path, option: str, ending: str
) -> None:
    full = tmp_path / f"full.{ending}"
    full.symlink_to("/dev/full")
    ended = loadgen(server.url(), "-n", "2", "--quiet", "--output-format", ending, option, str(full))
    assert (ended.returncode, ended.stderr) == (3, f"loadgen: {full}: No space left on device\n")


@pytest.mark.parametrize("output_format", ["text", "json", "csv"])
def test_a_closed_stdout_is_no_trouble(server: Server, output_format: str) -> None:
    command = f"exec {BIN / 'loadgen'} {server.url()} -n 2 --quiet --output-format {output_format} >&- <&-"
    ended = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_closed_stderr_is_no_trouble(server: Server) -> None:
    command = f"exec {BIN / 'loadgen'} {server.url()} -n 2 2>&-"
    ended = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0
    assert ended.stdout.startswith("-- N=2 run 1\n")


def test_a_note_that_cannot_be_written_ends_no_measurement(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    with Path("/dev/full").open("w") as full:
        arguments = ("loadgen", server.url(), "-n", "3", "-o", str(file), "--output-format", "json")
        with start_script(*arguments, stderr=full) as process:
            process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert json.loads(file.read_text())["runs"][0]["ok"] == 3


def test_a_closed_load_has_its_tail_and_its_rate_behind_the_fixed_keys(loadgen: Loadgen, server: Server) -> None:
    line = loadgen(server.url(), "-n", "20", "-c", "2", "--quiet").stdout.splitlines()[1]
    assert re.search(r" over1500ms=0 p95_ms=\d+ p99_ms=\d+ rps=\d+$", line)


@pytest.mark.parametrize("file_name", ["s.csv", "s.json", "s.parquet"])
def test_the_servers_own_figures_are_shown_saved_and_explained_where_asked_for(
    loadgen: Loadgen, server: Server, tmp_path: Path, file_name: str
) -> None:
    path = tmp_path / file_name
    asked = (server.url("/timed/30"), "-n", "5", "--server-timing")
    shown = loadgen(*asked, "--samples", str(path)).stdout
    assert shown.splitlines()[2] == "server timing: work p50=30 p99=30 max=30 (ms, 5 of 5 responses)"
    assert loadgen("explain", str(path)).stdout == shown
    explained = json.loads(loadgen("explain", str(path), "--output-format", "json").stdout)
    document = json.loads(loadgen(*asked, "--output-format", "json").stdout)
    jsonschema.validate(document, DOCUMENT)
    figures = {"work": {"p50_ms": 30.0, "p99_ms": 30.0, "max_ms": 30.0, "count": 5}}
    assert [run["server_timing"] for run in (*explained["runs"], *document["runs"])] == [figures, figures]
    rows = loadgen(*asked, "--output-format", "csv").stdout.splitlines()
    assert rows[0].endswith(",resent,server_timing_ns")
    assert all(row.endswith(",work=30000000") for row in rows[1:])


def test_the_servers_own_figures_stay_out_where_not_asked_for(loadgen: Loadgen, server: Server) -> None:
    assert "server timing" not in loadgen(server.url("/timed/3"), "-n", "3").stdout
    document = json.loads(loadgen(server.url("/timed/3"), "-n", "3", "--output-format", "json").stdout)
    assert (document["plan"]["server_timing"], document["runs"][0]["server_timing"]) == (False, {})
