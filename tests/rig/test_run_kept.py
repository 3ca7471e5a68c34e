"""What `rig run` keeps of a scenario, and what is made of it again."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
from collections import Counter
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from loadgen.summary import in_ms
from rig.runs.saved import load
from tests.rig.kept import Kept
from tests.rig.support import PATIENCE_S, Place, interrupt
from tests.servers.support import eventually

SCENARIO = """
title = "Mine"
question = "How many at once?"
source = "here"
[[load]]
path = "/sleep?ms=200"
n = 12
runs = 1
over = "300ms"
service_ms = 200
show = ["resent"]
[[load]]
path = "/downstream?ms=100"
n = 6
runs = 2
show = ["server-timing"]
[ask]
path = "/json"
at_once = 2
[tasks]
work = "sleep:20ms"
tasks = 4
runs = 1
warmup = 0
on = { executor = "pool:2" }
[[profiles]]
spec = "calibrated:limit=6"
[[profiles]]
spec = "async"
predicted = { cause = ["overlapped"], answer = "loadrig" }
"""
PROFILE = '[[profiles]]\nspec = "async"\n'
STEPS = ("/sleep?ms=200, 12 at once", "/downstream?ms=100, 6 at once")
SPECS = ("calibrated:limit=6", "async")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    path = tmp_path_factory.mktemp("scenario")
    (path / "mine.toml").write_text(SCENARIO)
    place, runs_dir = Place(path), path / "kept"
    ended = place.run("run", str(path / "mine.toml"), "--save", "--runs-dir", str(runs_dir))
    assert ended.returncode == 0, ended.stderr
    place.assert_empty()
    return Kept(place, runs_dir, ended.stdout, ended.stderr)


def test_a_folder_has_it_all(kept: Kept) -> None:
    assert kept.folder.name.endswith("Z-mine")
    assert kept.stderr == f"rig: kept in {kept.folder}\n"
    names = {path.name for path in kept.folder.iterdir()}
    assert names >= {"report.html", "resources.csv", "result.json", "samples.csv.gz", "samples.evidence.json"}
    logs = sorted(name for name in names if name.endswith(".log"))
    each = ("calibrated-limit-6", "async")
    assert logs == sorted(f"server-{number}-{each[(number - 1) % 2]}.log" for number in range(1, 7))


def test_it_is_as_the_schema_says(kept: Kept) -> None:
    described = json.loads((resources.files("rig") / "schemas" / "rig-run-1.json").read_text())
    result = kept.run.result
    jsonschema.validate(result, described)
    assert (result["kind"], result["complete"], result["command"][:2]) == ("run", True, ["rig", "run"])
    assert [step["kind"] for step in result["steps"]] == ["load", "load", "ask", "tasks"]
    assert set(result) <= set(described["properties"])


def test_rows_and_resources_are_those_of_their_step(kept: Kept) -> None:
    profiles = kept.run.profiles
    assert [(profile.step, profile.spec) for profile in profiles] == [(step, spec) for step in STEPS for spec in SPECS]
    assert [[run.number for run in profile.runs] for profile in profiles] == [[1], [1], [1, 2], [1, 2]]
    for profile in profiles:
        for run in profile.runs:
            assert in_ms(int(run.samples.done.max())) == run.data["wall_ms"]
            timed = {name for name, values in run.samples.server_timing.items() if (values >= 0).any()}
            assert timed == ({"acquire", "work"} if profile.step == STEPS[1] else set())
            assert run.resources
            assert max(int(row["at_ns"]) for row in run.resources) / 1e6 <= run.data["wall_ms"] + 1000
    seen = sum(len(run.resources) for profile in profiles for run in profile.runs)
    assert seen == sum(1 for _ in kept.run.resources)


def test_secrets_reach_no_file(place: Place, tmp_path: Path) -> None:
    path, runs_dir = tmp_path / "mine.toml", tmp_path / "kept"
    head = SCENARIO.partition("[[load]]")[0]
    path.write_text(f'{head}[load]\npath = "/json?pin=hunter2"\nn = 2\nruns = 1\n{PROFILE}')
    output = ["--output-format", "json", "-o", str(tmp_path / "out.json")]
    ended = place.run("run", str(path), "--save", "--runs-dir", str(runs_dir), "--redact", "pin", *output)
    assert ended.returncode == 3, ended.stderr  # the server knows no such parameter
    (folder,) = runs_dir.iterdir()
    for file in [tmp_path / "out.json", *folder.iterdir()]:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        assert b"hunter2" not in content, file
    assert load(folder).profiles[0].plan["url"].endswith("/json?pin=(redacted)")


def test_shown_as_it_was_printed(kept: Kept) -> None:
    shown = kept.rig("show", "latest")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == kept.stdout
    quiet = kept.rig("show", "mine", "--quiet").stdout.splitlines()
    assert not any(line.startswith("why:") for line in quiet)
    assert not Counter(quiet) - Counter(shown.stdout.splitlines())
    assert quiet[-1] == shown.stdout.splitlines()[-1]


def test_listed_step_by_step(kept: Kept) -> None:
    _, *rows = kept.rig("runs").stdout.splitlines()
    assert rows[0].split()[:2] == [kept.folder.name, "run"]
    assert [row.split()[-3:-1] for row in rows] == [[spec, str(runs)] for runs in (1, 2) for spec in SPECS]


def test_held_against_itself_step_by_step(kept: Kept) -> None:
    diff = kept.place.run("diff", str(kept.folder), str(kept.folder))
    assert diff.returncode == 0
    for step in STEPS:
        for spec in SPECS:
            assert f"\n{step}: {spec}\n" in diff.stdout


def test_a_report_names_the_steps(kept: Kept, tmp_path: Path) -> None:
    ended = kept.place.run("report", str(kept.folder), "-o", str(tmp_path / "page.html"))
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "page.html").read_text()
    for step in STEPS:
        for spec in SPECS:
            assert f"<h3>{step}: {spec}</h3>" in page


def test_rerun_compares_step_by_step(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    runs_dir = tmp_path / "runs"
    options = ["--runs-dir", str(runs_dir)]
    first = kept.place.run("run", str(tmp_path / "mine.toml"), "--save", "--profiles", "async", *options)
    assert first.returncode == 0, first.stderr
    again = kept.place.run("rerun", "mine", *options)
    assert again.returncode == 0, again.stderr
    old, new = sorted(runs_dir.iterdir())
    compared = again.stdout.partition(f"A: {old}\nB: {new}\n")[2]
    assert re.findall(r"\n(.*)\nfigure ", compared) == [
        "/sleep?ms=200, 12 at once: async", "/downstream?ms=100, 6 at once: async",
    ]  # fmt: skip


def long_scenario(folder: Path) -> Path:
    """A file with a step that ends soon and one that does not."""
    steps = "".join(f'[[load]]\npath = "/sleep?ms={ms}"\nn = {n}\nruns = 1\n' for ms, n in ((100, 3), (60_000, 4)))
    path = folder / "long.toml"
    path.write_text(f'title = "Long"\nquestion = "?"\nsource = "here"\n{steps}[[profiles]]\nspec = "async"\n')
    return path


def test_an_interrupted_step_keeps_what_was_measured(place: Place, tmp_path: Path) -> None:
    runs_dir = tmp_path / "kept"
    path = long_scenario(tmp_path)
    with place.running("run", str(path), "--save", "--runs-dir", str(runs_dir)) as process:
        assert eventually(lambda: place.in_flight() == 4)
        kept_so_far = load("latest", runs_dir)
        out, _ = interrupt(process)
    assert process.returncode == 130
    assert kept_so_far.result["complete"] is False
    assert [len(run.samples) for profile in kept_so_far.profiles for run in profile.runs] == [3]
    saved = load("latest", runs_dir)
    assert saved.result["complete"] is False
    assert [len(run.samples) for profile in saved.profiles for run in profile.runs] == [3, 4]
    shown = place.run("show", "latest", "--runs-dir", str(runs_dir))
    assert shown.stdout == out
    assert "is incomplete" in shown.stderr


def test_killed_in_a_later_step(place: Place, tmp_path: Path) -> None:
    runs_dir = tmp_path / "kept"
    path = long_scenario(tmp_path)
    with place.running("run", str(path), "--save", "--runs-dir", str(runs_dir)) as process:
        assert eventually(lambda: place.in_flight() == 4)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
    shown = place.run("show", "latest", "--runs-dir", str(runs_dir))
    assert shown.returncode == 0
    assert shown.stdout.count("requests=3 ") == 1
    assert "is incomplete" in shown.stderr


def test_where_nothing_was_measured_nothing_is_kept(broken_place: Place, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SCENARIO.replace('"async"', '"threads"'))
    runs_dir = tmp_path / "kept"
    failed = broken_place.run("run", str(path), "--save", "--runs-dir", str(runs_dir), "--profiles", "threads")
    assert failed.returncode == 3
    assert list(runs_dir.iterdir()) == []


def test_a_folder_of_another_place_is_shown_too(kept: Kept, tmp_path: Path) -> None:
    folder = shutil.copytree(kept.folder, tmp_path / "copy")
    assert kept.place.run("show", str(folder)).stdout == kept.rig("show", "latest").stdout


def test_a_report_begins_with_what_became_of_the_predictions(kept: Kept) -> None:
    page = (kept.folder / "report.html").read_text()
    total = kept.stdout.splitlines()[-1]
    assert f">Mine: {total}.</p>" in page
    table = page[page.index("<h3>Held against the prediction</h3>") :].partition("</table>")[0]
    rows = kept.run.result["rows"]
    assert table.count("<tr>") == 1 + len(rows)
    assert all(row["measured"] in table for row in rows)
