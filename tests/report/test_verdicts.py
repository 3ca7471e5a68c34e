"""The tables of verdicts on a page, and what stands over time beside them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.diff.results import diff_results, figure_cells
from rig.diff.saved import read_saved
from rig.report import write_report
from rig.report.figures import over_time
from rig.report.sides import sides
from rig.report.verdicts import verdicts
from rig.runs.saved import load
from tests.report.support import SPECS

FIGURES = 5


def changed(folder: Path, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of a run folder whose result is another."""
    copy = shutil.copytree(folder, path)
    data = json.loads((copy / "result.json").read_text())
    change(data)
    (copy / "result.json").write_text(json.dumps(data))
    return copy


def six_runs(data: dict[str, Any], slower: float = 1.0) -> None:
    """Each profile with six runs in place of its own, all trusted; their walls so many times as long."""
    for profile in data["profiles"]:
        one = profile["runs"][0]
        profile["runs"] = [
            {**one, "run": number, "trusted": True, "wall_ms": one["wall_ms"] * slower + number, "ok": one["requests"]}
            for number in range(1, 7)
        ]


def cells(page: str, title: str) -> list[list[str]]:
    """The body of the table below a heading, row by row."""
    body = page[page.index(f"<h3>{title}</h3>") :].partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.findall(r"<t[hd][^>]*>(?:<[^>]*>)*([^<]*)", row) for row in body.split("</tr>")[:-1]]


def test_a_comparison_shows_the_verdicts_that_it_came_to(folder: Path, tmp_path: Path) -> None:
    def judged(data: dict[str, Any]) -> None:
        data["comparisons"][0]["figures"]["wall"] |= {"verdict": "better", "p": 0.0286}

    run = changed(folder, tmp_path / "run", judged)
    write_report([run], tmp_path / "page.html")
    rows = cells((tmp_path / "page.html").read_text(), f"Against {SPECS[0]}")
    assert [row[0] for row in rows] == [spec for spec in SPECS[1:] for _ in range(FIGURES)]
    assert rows[0][1] == "wall_ms"
    assert rows[0][-2:] == ["0.0286", "better"]
    assert rows[1][-1] == "too few runs"


def test_several_runs_are_held_against_the_first_as_rig_diff_does(folder: Path, tmp_path: Path) -> None:
    a = changed(folder, tmp_path / "a", six_runs)
    b = changed(folder, tmp_path / "b", lambda data: six_runs(data, 2))
    write_report([a, b], tmp_path / "page.html")
    rows = cells((tmp_path / "page.html").read_text(), "b (B) against a (A)")
    diff = diff_results(read_saved(a), read_saved(b), anyway=True)
    assert rows == [[each.name, *figure_cells(figure)] for each in diff.compared for figure in each.figures]
    assert (rows[0][1], rows[0][-1], rows[1][-1]) == ("wall_ms", "worse", "~")


def test_what_was_not_measured_alike_is_said(folder: Path, tmp_path: Path) -> None:
    def another(data: dict[str, Any]) -> None:
        data["environment"]["cpus"] = 64
        data["profiles"] = data["profiles"][:1]

    *_, between = verdicts([load(folder), load(changed(folder, tmp_path / "other", another))])
    assert any("not measured alike: environment: cpus is " in note for note in between.notes)
    assert f"only in A: {', '.join(SPECS[1:])}" in between.notes


def test_runs_with_nothing_in_common_are_told_of(folder: Path, tmp_path: Path) -> None:
    def renamed(data: dict[str, Any]) -> None:
        data["profiles"] = [{**data["profiles"][0], "profile": "other"}]
        data["comparisons"] = []

    *_, between = verdicts([load(folder), load(changed(folder, tmp_path / "other", renamed))])
    assert between.table is None
    assert "have no profile in common" in between.notes[0]


@pytest.mark.parametrize(("pause_ms", "drawn"), [("12.5", True), ("0.0", False), ("", False)])
def test_pauses_stand_on_the_time_axis_where_there_were_any(
    folder: Path, tmp_path: Path, pause_ms: str, drawn: bool
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    header, *rows = (copy / "resources.csv").read_text().splitlines()
    assert header.endswith(",gc_pause_ms")
    paused = [f"{row}{pause_ms}" if ",server," in row else row for row in rows]
    (copy / "resources.csv").write_text("\n".join([header, *paused]) + "\n")
    panels = {figure.name: figure for figure in over_time(sides([load(copy)]))}
    assert ("pauses" in panels) is drawn
    if drawn:
        domain = panels["pauses"].spec["encoding"]["x"]["scale"]["domain"]
        assert domain == panels["in-flight"].spec["encoding"]["x"]["scale"]["domain"]
        assert "at most 12" in panels["pauses"].description
