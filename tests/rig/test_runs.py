"""What `rig compare` and `loadgen --save` keep, and what `rig runs`, `show` and `rerun` make of it."""

from __future__ import annotations

import gzip
import json
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from loadgen.errors import DataError, UsageError
from loadgen.summary import in_ms
from rig.runs.listing import find
from rig.runs.rerun import arguments_again
from rig.runs.saved import load
from servers.catalog import parse_spec
from servers.process import start
from tests.rig.kept import Kept
from tests.rig.support import PATIENCE_S, RIG, Place
from tests.servers.support import eventually

LOADGEN = Path(sys.executable).parent / "loadgen"
SAVED = Path(__file__).parent / "saved"
MEASURED = (0, 1)
"""Exit codes; 1 where the machine is so busy that a run is not trusted, and no objective judged."""
FAST = ["--path", "/sleep?ms=100", "--n", "6", "--over", "150ms"]


def compared(folder: Path, *arguments: str, exit_codes: Sequence[int] = MEASURED) -> Kept:
    place, runs_dir = Place(folder), folder / "kept"
    ended = place.run("compare", *arguments, "--save", "--runs-dir", str(runs_dir))
    assert ended.returncode in exit_codes, ended.stderr
    place.assert_empty()
    return Kept(place, runs_dir, ended.stdout, ended.stderr)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    specs = ["threads:threads=2,backlog=50", "async", "async"]
    options = ["--runs", "2", "--server-timing", "--slo", "p99<10s", "--slo", "failed<1%", "--name", "first"]
    return compared(tmp_path_factory.mktemp("kept"), *specs, *FAST, *options)


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with start(parse_spec("async")) as server:
        yield server.url


def schema(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((resources.files("rig") / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(read)
    return read


def undescribed(data: Any, described: dict[str, Any], whole: dict[str, Any], where: str = "") -> list[str]:
    """The keys of data for which a schema has no word."""
    if "$ref" in described:
        described = whole["$defs"][described["$ref"].rpartition("/")[2]]
    if "anyOf" in described and data is not None:
        described = next(form for form in described["anyOf"] if form.get("type") != "null")
    if isinstance(data, list):
        return [key for item in data for key in undescribed(item, described.get("items", {}), whole, f"{where}[]")]
    if not isinstance(data, dict) or "properties" not in described or where.endswith("findings[]"):
        return []
    found = []
    for key, value in data.items():
        if key in described["properties"]:
            found += undescribed(value, described["properties"][key], whole, f"{where}.{key}")
        elif "additionalProperties" not in described:
            found.append(f"{where}.{key}")
    return found


def test_a_folder_has_it_all(kept: Kept) -> None:
    assert kept.folder.name.endswith("Z-first")
    assert kept.stderr == f"rig: kept in {kept.folder}\n"
    assert sorted(path.name for path in kept.folder.iterdir()) == [
        "report.html",
        "resources.csv",
        "result.json",
        "samples.csv.gz",
        "samples.evidence.json",
        "server-1-threads-threads-2-backlog-50.log",
        "server-2-async.log",
        "server-3-async.log",
    ]
    result = kept.run.result
    assert (result["kind"], result["complete"], result["command"][:2]) == ("compare", True, ["rig", "compare"])
    environment = result["environment"]
    assert environment["libraries"]["waitress"]
    assert environment["settings"]["descriptors"].keys() == {"soft", "hard"}
    with gzip.open(kept.folder / "samples.csv.gz", "rt") as file:
        assert sum(1 for _ in file) == 1 + 3 * 2 * 6


def test_files_are_as_their_schemas_say(kept: Kept) -> None:
    for file, name in (("result.json", "rig-run-1"), ("samples.evidence.json", "loadgen-evidence-1")):
        data, described = json.loads((kept.folder / file).read_text()), schema(name)
        jsonschema.validate(data, described)
        assert undescribed(data, described, described) == []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**kept.run.result, "profiles": None}, schema("rig-run-1"))


@pytest.mark.parametrize("run", ["latest", "first", "fir", "2", "folder"])
def test_shown_as_it_was_printed(kept: Kept, run: str) -> None:
    shown = kept.rig("show", str(kept.folder) if run == "folder" else run)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == kept.stdout
    assert "server timing: work" in shown.stdout
    assert "slo: p99<10s " in shown.stdout


def test_quiet_leaves_the_reasons_out(kept: Kept) -> None:
    quiet = kept.rig("show", "latest", "--quiet").stdout.splitlines()
    assert quiet == [line for line in kept.stdout.splitlines() if not line.startswith(("why:", "Going", "Measuring"))]


def test_rows_are_read_back(kept: Kept) -> None:
    specs = [profile.spec for profile in kept.run.profiles]
    assert specs == ["threads:threads=2,backlog=50", "async", "async"]
    for profile in kept.run.profiles:
        assert [run.number for run in profile.runs] == [1, 2]
        for run in profile.runs:
            assert in_ms(int(run.samples.done.max())) == run.data["wall_ms"]
            assert run.samples.ok.sum() == run.data["ok"]
            assert run.samples.server_timing.keys() == {"work"}


def test_listed(kept: Kept) -> None:
    listed = kept.rig("runs")
    heading, *rows = listed.stdout.splitlines()
    assert heading.split() == ["run", "kind", "profile", "runs", "median", "wall_ms"]
    assert [row.split()[-3] for row in rows] == ["threads:threads=2,backlog=50", "async", "async"]
    assert rows[0].split()[:2] == [kept.folder.name, "compare"]
    assert "incomplete" not in listed.stdout


def test_a_report_stands_beside_what_was_kept_unless_it_is_left_out(kept: Kept, tmp_path: Path) -> None:
    page = (kept.folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    for profile in kept.run.profiles:
        assert f"{profile.data['runs'][0]['wall_ms']}" in page
    without = compared(tmp_path, "async", *FAST, "--no-report")
    assert not (without.folder / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report", "--no-save"], "--report and --open are about what is kept: leave --no-save out"),
        (["--open", "--no-save"], "--report and --open are about what is kept: leave --no-save out"),
        (["--open", "--no-report", "--save"], "--open shows what --no-report leaves out: leave one of them out"),
    ],
)
@pytest.mark.parametrize("command", [["compare", "async"], ["run", "sleep-400"]])
def test_a_report_of_what_is_not_kept_is_refused(
    place: Place, tmp_path: Path, command: list[str], options: list[str], said: str
) -> None:
    refused = place.run(*command, *options, cwd=tmp_path)
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", f"rig: {said}\n")
    assert not (tmp_path / "runs").exists()


def test_open_shows_the_report(tmp_path: Path) -> None:
    browser, shown = tmp_path / "browser", tmp_path / "shown"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}\n')
    browser.chmod(0o755)
    place = Place(tmp_path, BROWSER=f"{browser} %s")
    ended = place.run("compare", "async", *FAST, "--save", "--open", cwd=tmp_path)
    assert ended.returncode in MEASURED
    (folder,) = (tmp_path / "runs").iterdir()
    assert shown.read_text() == f"{(folder / 'report.html').as_uri()}\n"


def test_a_report_that_finds_no_room_loses_nothing_else(place: Place, tmp_path: Path) -> None:
    size = 300_000
    ended = subprocess.run(
        [RIG, "compare", "async", *FAST, "--name", "full"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path,
        env=place.environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )  # fmt: skip
    assert ended.returncode == 0
    run = load("full", tmp_path / "runs")
    kept_in, told = ended.stderr.splitlines()
    where = run.path.relative_to(tmp_path)
    assert kept_in == f"rig: kept in {where}"
    assert told == f"rig: no report was written: File too large; rig report {where} writes one"
    assert run.result["complete"] is True
    assert not list(run.path.glob("report*"))


def test_resources_are_rows_by_column(kept: Kept, tmp_path: Path) -> None:
    seen = {(row["profile"], row["run"], row["side"]) for row in kept.run.resources}
    assert {("async", "2", "server"), ("async", "2", "client")} <= seen
    folder = shutil.copytree(kept.folder, tmp_path / "copy")
    (folder / "resources.csv").write_text("profile,run,at_ns,side,queue\nasync,1,50,server,\n")
    (row,) = load(folder).resources
    assert row == {"profile": "async", "run": "1", "at_ns": "50", "side": "server", "queue": ""}


def test_loadgen_keeps_where_it_is_told_to(served: str, tmp_path: Path) -> None:
    load_options = ["--rate", "100", "-z", "500ms", "--runs", "2", "--slo", "p99<10s"]
    place = Place(tmp_path)

    def fire(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [LOADGEN, f"{served}/sleep?ms=20", *load_options, *options],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path,
        )  # fmt: skip

    fire()
    assert list(tmp_path.iterdir()) == []
    refused = fire("--name", "mine")
    assert refused.returncode == 2
    assert "add --save" in refused.stderr
    fired = fire("--save")
    assert fired.returncode in MEASURED
    (folder,) = (tmp_path / "runs").iterdir()
    assert fired.stderr.endswith(f"loadgen: kept in {folder.relative_to(tmp_path)}\n")
    jsonschema.validate(load(folder).result, schema("rig-run-1"))
    assert "<!doctype html>" in (folder / "report.html").read_text()
    assert "--no-report leaves out" in fire("--save", "--no-report", "--open").stderr
    assert "are about what is kept: add --save" in fire("--report").stderr
    assert place.run("show", "latest", cwd=tmp_path).stdout == fired.stdout
    again = place.run("rerun", "latest", cwd=tmp_path)
    assert again.returncode in MEASURED
    old, new = sorted((tmp_path / "runs").iterdir())
    assert f"A: runs/{old.name}\nB: runs/{new.name}\n" in again.stdout


def test_secrets_reach_no_file(tmp_path: Path) -> None:
    secret = "hunter2"
    kept = compared(
        tmp_path, "async", "--path", f"/json?key={secret}", "--n", "2", "-m", "GET",
        "-H", f"Authorization: Bearer {secret}", f"-HCookie: sid={secret}", f"--header=X-Customer: {secret}",
        "--body", f'{{"pin": "{secret} 1", "key": "{secret}"}}', "--redact", "x-customer", "--redact", "key",
        "--redact", "pin", "--output", str(tmp_path / "out.json"), "--output-format", "json",
        exit_codes=[3],  # the server knows no such parameter
    )  # fmt: skip
    for path in [tmp_path / "out.json", *kept.folder.iterdir()]:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        assert secret.encode() not in content, path
    result = kept.run.result
    assert result["profiles"][0]["plan"]["url"].endswith("/json?key=(redacted)")
    assert "-HCookie: (redacted)" in result["command"]
    assert kept.rig("rerun", "latest").returncode == 2


def test_rerun_compares(kept: Kept, tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    shutil.copytree(kept.folder, runs_dir / kept.folder.name)
    again = kept.place.run("rerun", "first", "--runs-dir", str(runs_dir))
    assert again.returncode in MEASURED
    old, new = sorted(runs_dir.iterdir())
    compared = again.stdout.partition(f"A: {old}\nB: {new}\n")[2]
    assert compared.count("\nwall_ms ") == compared.count("\np99_ms ") == 3
    plans = [[{**profile.plan, "url": ""} for profile in load(folder).profiles] for folder in (old, new)]
    assert plans[0] == plans[1]
    assert load(new).result["command"][:3] == ["rig", "compare", "threads:threads=2,backlog=50"]


def test_what_is_carried_out_again() -> None:
    command = ["rig", "compare", "async", "-H", "Cookie: (redacted)", "-oout.txt", "--samples=s.csv", "--runs", "2"]
    command += ["--output", "o", "--runs-dir", "d", "--name=n", "--save", "-H", "X: y"]
    kept = ["compare", "async", "--runs", "2", "-H", "X: y"]
    assert arguments_again(command, ["-H", "cookie: a=b"]) == [*kept, "-H", "cookie: a=b"]
    with pytest.raises(UsageError, match=r"the value of Cookie was not kept: give it again, as -H 'Cookie: \.\.\.'"):
        arguments_again(command, [])
    with pytest.raises(UsageError, match="cannot be sent again"):
        arguments_again(["loadgen", "http://h/?token=(redacted)"], [])


def test_killed_in_mid_run(place: Place, tmp_path: Path) -> None:
    runs_dir = tmp_path / "kept"
    options = ["--path", "/sleep?ms=300", "--n", "6", "--runs", "50", "--save", "--runs-dir", str(runs_dir)]
    with place.running("compare", "async", *options) as rig:

        def runs_kept() -> int:
            try:
                return len(load("latest", runs_dir).profiles[0].runs)
            except (UsageError, IndexError):
                return 0

        assert eventually(lambda: runs_kept() >= 2)
        rig.send_signal(signal.SIGKILL)
        rig.wait(PATIENCE_S)
    run = load("latest", runs_dir)
    assert run.result["complete"] is False
    assert all(len(one.samples) == 6 for one in run.profiles[0].runs)
    jsonschema.validate(run.result, schema("rig-run-1"))
    shown = place.run("show", "latest", "--runs-dir", str(runs_dir))
    assert shown.returncode == 0
    assert shown.stdout.count("requests=6 ") == len(run.profiles[0].runs)
    assert "is incomplete" in shown.stderr
    assert "incomplete" in place.run("runs", "--runs-dir", str(runs_dir)).stdout


def test_interrupted_is_incomplete(place: Place, tmp_path: Path) -> None:
    runs_dir = tmp_path / "kept"
    options = ["--path", "/sleep?ms=60000", "--n", "4", "--save", "--runs-dir", str(runs_dir)]
    with place.running("compare", "async", *options) as rig:
        assert eventually(lambda: place.in_flight() == 4)
        rig.send_signal(signal.SIGINT)
        stdout, _ = rig.communicate(timeout=PATIENCE_S)
    run = load("latest", runs_dir)
    assert run.result["complete"] is False
    assert len(run.profiles[0].runs[0].samples) == 4
    assert place.run("show", "latest", "--runs-dir", str(runs_dir)).stdout == stdout


def test_full_disk(place: Place, tmp_path: Path) -> None:
    """A limit on the size of a file stands for it: the second run's rows do not fit any more."""
    size = 12_000
    ended = subprocess.run(
        [RIG, "compare", "async", "--path", "/json", "--n", "300", "-c", "20", "--runs", "4", "--name", "full"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path,
        env=place.environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )  # fmt: skip
    assert ended.returncode == 0
    assert ended.stdout.count("requests=300 ") == 4
    run = load("full", tmp_path / "runs")
    told = f"rig: not all could be kept in {run.path.relative_to(tmp_path)}: File too large;"
    assert [line.startswith(told) for line in ended.stderr.splitlines()] == [True]
    assert run.result["complete"] is False
    kept = [one for profile in run.profiles for one in profile.runs]
    assert len(kept) < 4
    assert all(len(one.samples) == 300 for one in kept)
    assert not list(run.path.glob("*.new"))


def test_rows_that_are_cut_short(kept: Kept, tmp_path: Path) -> None:
    folder = shutil.copytree(kept.folder, tmp_path / "cut")
    with (folder / "samples.csv.gz").open("r+b") as file:
        file.truncate((folder / "samples.csv.gz").stat().st_size - 20)
    run = load(folder)
    assert len(run.profiles[0].runs[1].samples) == 6
    with pytest.raises(DataError, match=r"rows of 6 for async run 2"):
        _ = run.profiles[2].runs[1].samples
    assert kept.place.run("show", str(folder)).stdout == kept.stdout


def test_an_older_version_is_read() -> None:
    folder = next(SAVED.glob("*-version-1"))
    run = load(folder)
    assert run.result["schema"] == "rig-run/1"
    assert [[len(one.samples) for one in profile.runs] for profile in run.profiles] == [[4, 4], [4, 4]]
    shown = subprocess.run([RIG, "show", folder], capture_output=True, text=True, timeout=PATIENCE_S)
    assert shown.stdout == (folder / "printed.txt").read_text()
    jsonschema.validate(run.result, schema("rig-run-1"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": "rig-run/2", "name": "", "kind": "", "command": [], "time": "", "complete": true,'
         ' "environment": {}}', "written by a later loadrig (rig-run/2)"),
        ('{"schema": "rig/1"}', "its schema is 'rig/1', not rig-run/1"),
        ("[]", "not the result.json of a run folder"),
        ("{", "not the result.json of a run folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(place: Place, tmp_path: Path, content: str, said: str) -> None:
    folder = tmp_path / "runs" / "20260101T000000Z-bad"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(content)
    refused = place.run("show", "bad", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert "cannot be read" in place.run("runs", cwd=tmp_path).stdout


def test_which_run_is_meant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run 'latest' in .*: there is none"):
        find("latest", tmp_path)
    for name in ("20260101T000000Z-a", "20260102T000000Z-b", "20260103T000000Z-a", "20260104T000000Z-bc"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").touch()
    (tmp_path / "20270101T000000Z-no-run").mkdir()
    meant = {"latest": "04", "a": "03", "b": "02", "bc": "04", "20260101": "01", "20260103T000000Z-a": "03"}
    assert {run: find(run, tmp_path).name[6:8] for run in meant} == meant
    with pytest.raises(UsageError, match="run '2026' may be any of 4"):
        find("2026", tmp_path)
    with pytest.raises(UsageError, match="no run 'zebra'"):
        find("zebra", tmp_path)


def test_nothing_is_kept_of_nothing(broken_place: Place, tmp_path: Path) -> None:
    kept = ["--save", "--runs-dir", str(tmp_path / "kept")]
    assert broken_place.run("compare", "async", "threads", "--n", "4", *kept).returncode == 3
    assert list((tmp_path / "kept").iterdir()) == []
    place = Place(tmp_path)
    assert place.run("compare", "async", "--no-save", *FAST, cwd=tmp_path).stderr == ""
    assert not (tmp_path / "runs").exists()


def test_where_nothing_can_be_kept(place: Place, tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    refused = place.run("compare", "async", *FAST, "--save", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("rig: --runs-dir runs: ")
    measured = subprocess.run(
        [RIG, "compare", "async", *FAST], capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path
    )
    assert measured.returncode == 0
    assert measured.stderr.startswith("rig: nothing will be kept: --runs-dir runs: ")
    assert "requests=6 " in measured.stdout
    for name in ("../up", "", "a b"):
        assert "--name" in place.run("compare", "async", *FAST, "--save", "--name", name, cwd=tmp_path).stderr
