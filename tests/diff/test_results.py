"""Results in files, and what of them meets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import DataError, UsageError
from rig.diff.results import diff_results, lines
from rig.diff.saved import read_saved
from tests.diff.make import runs_of

HEAD = {"name": "before", "command": ["rig"], "time": "2026-11-30T22:05:00+00:00"}
FAST = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]


def entry(profile: str, times_ms: Sequence[float] = FAST, requests: int = 400) -> dict[str, Any]:
    return {"profile": profile, "args": "", "plan": {"requests": requests}, "runs": runs_of(times_ms)}


def write(folder: Path, name: str, schema: str = "rig/1", /, **body: Any) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"schema": schema, "environment": {"cpus": 2}, **body}))
    return path


def told(a: Path, b: Path, *, anyway: bool = False) -> list[str]:
    return list(lines(diff_results(read_saved(a), read_saved(b), anyway=anyway), []))


def test_a_block_a_profile(tmp_path: Path) -> None:
    a = write(tmp_path, "a", profiles=[entry("async")])
    b = write(tmp_path, "b", profiles=[entry("async", [time_ms * 2 for time_ms in FAST])])
    assert told(a, b) == [
        f"A: {a}",
        f"B: {b}",
        "",
        "async",
        "figure          A median  95 % interval  B median  95 % interval  change   p        verdict",
        "wall_ms         102       100 to 105     205       200 to 210     +100.0%  0.00216  worse",
        "p50_ms          102       100 to 105     205       200 to 210     +100.0%  0.00216  worse",
        "p99_ms          102       100 to 105     205       200 to 210     +100.0%  0.00216  worse",
        "throughput_rps  976       952 to 1000    488       476 to 500     -50.0%   0.00216  worse",
        "failed %        0         0 to 0         0         0 to 0         0%       1        ~",
    ]


def test_a_run_folder_is_read_and_one_that_is_not_complete_is_said_to_be(tmp_path: Path) -> None:
    folder = tmp_path / "20261130T220500Z-before"
    folder.mkdir()
    write(folder, "result", "rig-run/1", kind="compare", complete=False, profiles=[entry("async", FAST[:3])], **HEAD)
    text = told(folder, write(tmp_path, "b", profiles=[entry("async")]))
    assert "A is not complete: it ended early, and what was written until then is compared" in text
    assert (
        "B: too few runs to tell (3 and 6; of as many a side, 4 is the least at which p < 0.05 can be reached)" in text
    )
    assert text[-1] == "no interval where it says n/a: one of 95 % takes 6 runs"


def test_the_steps_of_a_scenario_are_kept_apart(tmp_path: Path) -> None:
    steps = [{"title": title, "profiles": [entry("async")]} for title in ("few", "many")]
    asked = {"title": "asked", "profiles": [{"profile": "async", "answers": ["yes"]}]}
    write(tmp_path, "result", "rig-run/1", kind="run", complete=True, steps=[*steps, {"title": "tasks"}, asked], **HEAD)
    diff = diff_results(read_saved(tmp_path), read_saved(tmp_path), anyway=False)
    assert [compared.name for compared in diff.compared] == ["few: async", "many: async"]


def test_loadgen_is_held_against_loadgen(tmp_path: Path) -> None:
    a = write(tmp_path, "a", "loadgen/1", plan={"url": "http://127.0.0.1:8080/"}, runs=runs_of(FAST))
    (compared,) = diff_results(read_saved(a), read_saved(a), anyway=False).compared
    assert (compared.name, compared.figures[0].a.runs) == ("", 6)


def test_the_same_profile_twice_meets_in_order(tmp_path: Path) -> None:
    a = write(tmp_path, "a", profiles=[entry("async"), entry("async", [1, 2, 3, 4])])
    b = write(tmp_path, "b", profiles=[entry("async"), entry("async", [1, 2, 3, 4])])
    diff = diff_results(read_saved(a), read_saved(b), anyway=False)
    assert [(compared.name, compared.figures[0].change) for compared in diff.compared] == [
        ("async", 0),
        ("async (2)", 0),
    ]


def test_what_only_one_side_has_is_said(tmp_path: Path) -> None:
    a = write(tmp_path, "a", profiles=[entry("async"), entry("threads")])
    b = write(tmp_path, "b", profiles=[entry("async"), entry("greenlets"), entry("node")])
    assert [line for line in told(a, b) if line.startswith("only")] == [
        "only in A: threads",
        "only in B: greenlets, node",
    ]


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    a, b = write(tmp_path, "a", profiles=[entry("async")]), write(tmp_path, "b", profiles=[entry("threads")])
    with pytest.raises(UsageError, match="no profile in common: async in the first, threads in the second"):
        told(a, b, anyway=True)


def test_what_was_not_measured_alike_is_refused_or_marked(tmp_path: Path) -> None:
    a = write(tmp_path, "a", profiles=[entry("async")])
    b = write(tmp_path, "b", profiles=[entry("async", requests=200)], environment={"cpus": 4})
    with pytest.raises(UsageError) as raised:
        told(a, b)
    assert str(raised.value).splitlines() == [
        "not measured alike; --anyway compares them all the same, and says so:",
        "  environment: cpus is 2 in A, 4 in B",
        "  plan of async: requests is 400 in A, 200 in B",
    ]
    assert told(a, b, anyway=True)[2:4] == [
        "compared anyway, not measured alike: environment: cpus is 2 in A, 4 in B",
        "compared anyway, not measured alike: plan of async: requests is 400 in A, 200 in B",
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("wall_ms=3", "not JSON: "),
        ("[]", "its schema is None; accepted: rig-run/1, rig/1, loadgen/1"),
        ('{"schema": "rig/2"}', "its schema is 'rig/2'; accepted: rig-run/1, rig/1, loadgen/1"),
        ('{"schema": "rig/1", "environment": {}, "profiles": [{}]}', "not as rig/1 is: KeyError 'profile'"),
        ('{"schema": "rig/1", "environment": {}, "profiles": 3}', "not as rig/1 is: TypeError "),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(DataError) as raised:
        read_saved(path)
    assert str(raised.value).startswith(f"{path}: {says}")
    assert "\n" not in str(raised.value)
