from __future__ import annotations

import json
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loadgen.errors import DataError
from loadgen.samples import MISSING, Samples
from rig.report import write_beside, write_report
from rig.runs.saved import load
from tests.loadgen.make import ok_rows, samples_of
from tests.report.support import RUNS, SPECS, csv_text, write
from tests.rig.support import Place

_WANTED = r'(?:src|href)="(?!#|data:)|@import|url\('
"""What a browser would fetch for a page."""


def result(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return data


def own_part(page: str) -> str:
    """The page without the charts' JavaScript."""
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def test_the_page_needs_nothing_but_itself(report: Path) -> None:
    assert not re.search(_WANTED, own_part(report.read_text()))


def test_it_begins_with_the_answer(folder: Path, report: Path) -> None:
    """The comparison with the profile that shed requests is quicker still, and is not the answer."""
    answer = re.search(r'class="answer"[^>]*>(.*?)</p>', report.read_text())
    assert answer
    assert answer[1] == f"12 requests at once, 3 runs each: {result(folder)['comparisons'][0]['sentence']}.".replace(
        ">", "&gt;"
    )


def test_failures_are_told_before_the_figures(report: Path) -> None:
    page = report.read_text()
    assert 0 < page.index("30 of 36 requests failed") < page.index("<main>")
    assert "http-5xx" in page


def test_every_finding_stands_there_with_its_evidence(folder: Path, report: Path) -> None:
    page = own_part(report.read_text())
    found = [
        finding for profile in result(folder)["profiles"] for run in profile["runs"] for finding in run["findings"]
    ]
    assert len(found) >= RUNS * len(SPECS)
    assert page.count('class="sentence"') == len(found)
    for finding in found:
        assert finding["sentence"].replace("'", "&#39;").replace(">", "&gt;") in page
        for name, value in finding["evidence"].items():
            if isinstance(value, int):
                assert f"<dt>{name}</dt><dd>{value}</dd>" in page


def test_the_review_sheet_is_filled_in(folder: Path, report: Path) -> None:
    page = own_part(report.read_text())
    sheet = page[page.index('class="sheet"') :]
    headings = re.findall(r"<div><dt>(\w+)</dt><dd>[^<]", sheet)
    assert headings == [
        "Purpose", "Environment", "Load", "Work", "Limits", "Procedure", "Results", "Resources",
    ]  # fmt: skip
    for profile in result(folder)["profiles"]:
        assert profile["limits"] in sheet
    assert "CPU 30 %, memory 23 MiB, 5 threads, 30 descriptors, accept queue 3" in sheet
    assert f"rig compare {' '.join(SPECS)} --n 12 --runs 3" in sheet


def test_headings_are_in_order(report: Path) -> None:
    levels = [int(level) for level in re.findall(r"<h(\d)", own_part(report.read_text()))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_what_stands_in_a_run_is_never_markup(folder: Path, tmp_path: Path) -> None:
    data = result(folder)
    data["profiles"][0]["profile"] = data["comparisons"][0]["base"] = "<script>alert(1)</script>"
    write(tmp_path / "run", data, ["rig", "<blink>"], csv_text({}))
    write_report([tmp_path / "run"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;blink&gt;" in page
    assert "<script>alert" not in page
    assert "<blink>" not in page


def test_runs_without_samples_are_told_of(folder: Path, tmp_path: Path) -> None:
    header = csv_text({})
    write(tmp_path / "run", result(folder), [], header)
    write_report([tmp_path / "run"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "run 1, 2, 3 of 3 without samples" in page
    assert 'id="requests"' not in page
    assert 'id="runs"' in page


def test_two_runs_stand_on_the_same_charts(folder: Path, tmp_path: Path) -> None:
    write_report([folder, folder], tmp_path / "report.html")
    page = own_part((tmp_path / "report.html").read_text())
    assert page.count('id="percentiles"') == 1
    for spec in SPECS:
        assert f"three: {spec}" in page
        assert f"three: {spec} (2)" in page


def test_charts_are_written_as_pictures(folder: Path, tmp_path: Path) -> None:
    one = result(folder)
    one["profiles"] = one["profiles"][:1]
    write(tmp_path / "run", one, [], csv_text({(SPECS[0], 1): samples_of(ok_rows(*[60] * 12))}))
    write_report([tmp_path / "run"], tmp_path / "report.html", png=tmp_path / "png", svg=tmp_path / "svg")
    names = {file.stem for file in (tmp_path / "png").iterdir()}
    assert names == {file.stem for file in (tmp_path / "svg").iterdir()}
    assert {"requests-1-1", "percentiles", "cumulative", "runs-wall"} <= names
    for name in names:
        assert (tmp_path / "png" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<path" in (tmp_path / "svg" / f"{name}.svg").read_text()


def long_run(seed: int) -> Samples:
    """10,000 requests of 200 users."""
    numbers = np.random.default_rng(seed)
    begun = np.sort(numbers.uniform(0, 10e9, 10_000)).astype(np.int64)
    took = (20e6 + numbers.exponential(5e6, 10_000)).astype(np.int64)
    one = samples_of(ok_rows(*[0] * 10_000))
    columns: dict[str, Any] = {"due": begun, "begun": begun, "connected": begun + 100_000, "first_byte": begun + took}
    rest = {name: getattr(one, name) for name in ("bytes_in", "status", "outcome", "reused", "resent", "target")}
    return Samples(**columns, done=begun + took + 50_000, **rest)


def test_a_large_report_is_made_quickly_and_stays_small(folder: Path, tmp_path: Path) -> None:
    """Under 5 s and 8 MB where nothing else runs; the bound is for a busy machine and a bundle not yet made."""
    data = result(folder)
    for profile in data["profiles"]:
        profile["plan"]["kind"] = "closed"
        profile["runs"] = [profile["runs"][0] | {"run": number, "requests": 10_000} for number in range(1, 6)]
    rows = {(spec, number): long_run(number) for spec in SPECS for number in range(1, 6)}
    write(tmp_path / "run", data, [], csv_text(rows))
    begun = time.perf_counter()
    write_report([tmp_path / "run"], tmp_path / "report.html")
    assert time.perf_counter() - begun < 60
    assert (tmp_path / "report.html").stat().st_size < 8_000_000
    assert "1,000 requests, so many are drawn" in (tmp_path / "report.html").read_text()


def test_the_command_writes_beside_the_run_unless_told_where(folder: Path, place: Place) -> None:
    runs = place.path / "runs"
    runs.mkdir()
    (runs / folder.name).symlink_to(folder)
    ended = place.run("report", "latest", "-o", "page.html", cwd=place.path)
    assert (ended.returncode, ended.stdout) == (0, "page.html\n")
    assert "<!doctype html>" in (place.path / "page.html").read_text()
    ended = place.run("report", "2026", cwd=place.path)
    assert (ended.returncode, ended.stdout) == (0, f"runs/{folder.name}/report.html\n")
    (folder / "report.html").unlink()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing-like-it"], "a run is a folder, its name, or latest. See rig runs"),
        (["a", "b"], "of several runs, -o FILE.html must say where to"),
        (["a", "-o", "page.pdf"], "the name must end in .html"),
    ],
)
def test_what_cannot_be_done_is_one_line(place: Place, arguments: list[str], said: str) -> None:
    ended = place.run("report", *arguments, cwd=place.path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.endswith(f"{said}\n")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "rig-run/9"}', '{"schema": "rig-run/1", "profiles": [{}]}'])
def test_a_damaged_folder_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(DataError, match=r"result\.json"):
        load(tmp_path)


def test_requests_that_were_never_begun_are_told_of(folder: Path, tmp_path: Path) -> None:
    never = dict.fromkeys(("due", "begun", "connected", "first_byte", "done"), MISSING)
    rows = samples_of([*ok_rows(*[60] * 10), never, never])
    write(tmp_path / "run", result(folder), [], csv_text({(SPECS[0], 1): rows}))
    write_report([tmp_path / "run"], tmp_path / "report.html")
    assert "2 requests were never begun, and have no line." in (tmp_path / "report.html").read_text()


def test_of_very_many_requests_no_report_is_made_unasked(folder: Path, tmp_path: Path) -> None:
    data = result(folder)
    data["profiles"][0]["runs"][0]["requests"] = 1_000_000
    write(tmp_path / "run", data, [], csv_text({}))
    with pytest.raises(DataError, match=r"of 1,000,\d{3} requests it takes long"):
        write_beside(tmp_path / "run")
    assert not (tmp_path / "run" / "report.html").exists()
