from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from loadgen.parquet import read_parquet
from loadgen.samples import Samples
from loadgen.store import csv_rows, read_csv
from tests.cli.test_failures import figures
from tests.document_schema import DOCUMENT
from tests.support import PATIENCE_S, Server, run_script, script_environment

# The command with few rows allowed, so that a short run is one that is too long to be kept.
_FEW_ROWS = """
import sys, loadgen.samples
loadgen.samples.MOST_KEPT = 100
loadgen.samples._WINDOW = 64
from loadgen.cli import main
sys.exit(main())
"""


def start_long(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _FEW_ROWS, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=script_environment(),
    )


def run_long(*arguments: str | Path) -> tuple[int, str, str]:
    with start_long(*arguments) as process:
        output, notes = process.communicate(timeout=3 * PATIENCE_S)
    return process.returncode, output, notes


def read_rows(path: Path) -> dict[int, Samples]:
    if path.suffix == ".parquet":
        return read_parquet(path)
    with path.open(encoding="utf-8", newline="") as file:
        return read_csv(file)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("load", [["-c", "4", "-z", "1s"], ["--rate", "250", "-z", "1s"]])
def test_each_row_of_a_long_run_comes_to_the_file(
    server: Server, tmp_path: Path, ending: str, load: Sequence[str]
) -> None:
    path = tmp_path / f"rows.{ending}"
    code, output, _ = run_long(server.url(), *load, "--runs", "2", "--samples", path, "--output-format", "json")
    assert code == 0
    document = json.loads(output)
    jsonschema.validate(document, DOCUMENT)
    rows = read_rows(path)
    assert [run["percentiles"] for run in document["runs"]] == ["histogram"] * 2
    assert [len(rows[run["run"]]) for run in document["runs"]] == [run["requests"] for run in document["runs"]]
    assert [rows[run["run"]].ok.sum() for run in document["runs"]] == [run["ok"] for run in document["runs"]]
    assert sum(run["requests"] for run in document["runs"]) == len(server.received)
    assert sum(second["ok"] for second in document["runs"][0]["seconds"]) == document["runs"][0]["ok"]
    explained = run_script("loadgen", "explain", str(path))
    assert explained.returncode == 0
    assert explained.stdout.count("requests=") == 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_of_several_targets_come_to_the_file_with_their_target(
    server: Server, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"rows.{ending}"
    urls = [server.url("/a"), server.url("/b"), "--weights", "3,1"]
    code, output, _ = run_long(*urls, "--rate", "200", "-z", "1s", "--samples", path, "--output-format", "json")
    assert code == 0
    document = json.loads(output)
    jsonschema.validate(document, DOCUMENT)
    figures_of = [(each["requests"], each["ok"]) for each in document["runs"][0]["targets"]]
    assert figures_of == [(150, 150), (50, 50)]
    assert np.bincount(read_rows(path)[1].target).tolist() == [0, 150, 50]


def test_rows_on_stdout_are_those_of_the_whole_run(server: Server) -> None:
    code, output, _ = run_long(server.url(), "--rate", "250", "-z", "1s", "--output-format", "csv")
    rows = list(csv.DictReader(output.splitlines()))
    assert code == 0
    assert len(rows) == len(server.received) == 250
    assert [int(row["request"]) for row in rows] == list(range(250))


def test_a_short_run_and_a_long_one_say_where_their_percentiles_are_from(server: Server) -> None:
    short = run_script("loadgen", server.url(), "-n", "5").stdout
    assert "histogram" not in short
    code, long, _ = run_long(server.url(), "--rate", "250", "-z", "1s")
    assert (code, figures(long)["requests"]) == (0, "250")
    assert "percentiles from a histogram, within 0.1 %" in long.splitlines()


def test_an_interrupted_long_run_keeps_everything(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    with start_long(server.url(), "-c", "4", "-z", "10m", "--samples", path) as process:
        server.wait_for_requests(500)
        process.send_signal(signal.SIGINT)
        output, notes = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in notes
    shown = figures(output)
    assert int(shown["requests"]) == int(shown["ok"]) + int(shown["failed"]) == len(read_rows(path)[1])
    assert 496 <= int(shown["ok"]) <= len(server.received)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full, a disk that is always full")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("load", [["-n", "4000", "-c", "8"], ["--rate", "250", "-z", "1s"]])
def test_a_full_disk_ends_no_run(server: Server, tmp_path: Path, load: Sequence[str], ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    path.symlink_to("/dev/full")
    code, output, notes = run_long(server.url(), *load, "--samples", path, "--output-format", "json", "--quiet")
    assert code == 3
    assert notes.count("\n") == 1
    assert notes.endswith("No space left on device\n")
    (run,) = json.loads(output)["runs"]
    assert run["ok"] == run["requests"] == len(server.received)


@pytest.mark.parametrize("load", [["-c", "4", "-z", "1s"], ["-n", "500001", "-c", "4"]])
def test_json_is_refused_for_what_it_cannot_hold(server: Server, tmp_path: Path, load: Sequence[str]) -> None:
    result = run_script("loadgen", server.url(), *load, "--samples", str(tmp_path / "rows.json"))
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert ".parquet" in result.stderr
    assert not server.received


def test_parquet_without_its_extra_is_one_line(server: Server, tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['pyarrow'] = None\nimport importlib.util\n" + (
        "importlib.util.find_spec = lambda name: None\nfrom loadgen.cli import main\nsys.exit(main())"
    )
    result = subprocess.run(
        [sys.executable, "-c", hidden, server.url(), "--samples", str(tmp_path / "rows.parquet")],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "pip install 'loadrig[parquet]'" in result.stderr


def test_parquet_and_csv_hold_the_same(server: Server, tmp_path: Path) -> None:
    paths = [tmp_path / "a.parquet", tmp_path / "b.csv"]
    with paths[1].open("w") as file:
        result = run_script(
            "loadgen", server.url("/status/503"), "-n", "7", "--samples", str(paths[0]), "--output-format", "csv",
            stdout=file,
        )  # fmt: skip
    assert result.returncode == 3
    (from_parquet,), (from_csv,) = (read_rows(path).values() for path in paths)
    assert list(csv_rows(1, from_parquet)) == list(csv_rows(1, from_csv))
    assert not from_parquet.has_targets


def test_hdr_prints_the_percentile_distribution_in_ms(server: Server) -> None:
    result = run_script("loadgen", server.url("/sleep/50"), "-n", "20", "--runs", "2", "--output-format", "hdr")
    assert result.returncode == 0
    blocks = result.stdout.split("#[-- ")[1:]
    assert [block.splitlines()[0] for block in blocks] == ["N=20 run 1]", "N=20 run 2]"]
    rows = [line.split() for line in blocks[0].splitlines() if line[:1] == " " and "Value" not in line]
    assert all(50 <= float(row[0]) < 20_000 for row in rows)
    assert [float(rows[0][1]), float(rows[-1][1])] == [0, 1]
    assert rows[-1][2] == "20"
    mean = next(line for line in blocks[0].splitlines() if line.startswith("#[Mean"))
    assert 50 <= float(mean.split("=")[1].split(",")[0]) < 20_000


def test_hdr_says_so_where_no_request_was_ok(server: Server) -> None:
    result = run_script("loadgen", server.url("/status/500"), "-n", "2", "--output-format", "hdr")
    assert (result.returncode, result.stdout.splitlines()) == (3, ["#[-- N=2 run 1]", "#[no request was ok]"])
