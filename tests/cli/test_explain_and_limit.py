from __future__ import annotations

import json
import re
from pathlib import Path

from loadgen.explain import CAUSES
from servers.catalog import parse_spec
from servers.process import start
from tests.cli.conftest import Loadgen
from tests.support import Server


def test_a_saved_run_is_explained_again(loadgen: Loadgen, server: Server, tmp_path: Path) -> None:
    for name in ("runs.csv", "runs.json"):
        file = tmp_path / name
        printed = loadgen(server.url("/sleep/50"), "-n", "30", "--runs", "2", "--samples", str(file)).stdout
        assert loadgen("explain", str(file)).stdout == printed
        (tmp_path / "runs.evidence.json").unlink()
        alone = json.loads(loadgen("explain", str(file), "--output-format", "json").stdout)
        assert [run["requests"] for run in alone["runs"]] == [30, 30]
        assert all(finding["cause"] in CAUSES for run in alone["runs"] for finding in run["findings"])


def test_a_file_that_is_none_of_samples_is_one_line(loadgen: Loadgen, tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("a,b\n1,2\n")
    for path in (file, tmp_path / "absent.csv"):
        ended = loadgen("explain", str(path))
        assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


def test_a_limit_is_searched_with_growing_bursts(loadgen: Loadgen) -> None:
    with start(parse_spec("calibrated:limit=5,service_ms=100")) as calibrated:
        ended = loadgen("limit", f"{calibrated.url}/sleep", "--output-format", "json", "--most", "64")
    verdict = json.loads(ended.stdout)
    assert (ended.returncode, verdict["limit"]) == (0, 5)
    assert verdict["sure"] in ("confirmed", "shown")
    assert 95 <= verdict["service_ms"] <= 160
    assert verdict["requests"] < 100


def test_no_limit_is_told_where_none_is_met(loadgen: Loadgen) -> None:
    with start(parse_spec("calibrated:service_ms=100")) as calibrated:
        ended = loadgen("limit", f"{calibrated.url}/sleep", "--most", "16")
    assert ended.returncode == 0
    assert re.search(
        r"^limit=n/a service_ms=\d+ sure=none-met largest_burst=16 requests=31$", ended.stdout, re.MULTILINE
    )
