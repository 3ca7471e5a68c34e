"""`rig diff` on what `rig compare` and `loadgen` really wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from tests.rig.support import FAIL_IF_SCHEMA, Place, figures_schema, left_out_schema

_SAVED: Final = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "complete": {"type": "boolean"}, "environment": {"type": "object"}},
    "required": ["path", "complete", "environment"],
    "additionalProperties": False,
}
_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
_PROPERTIES: Final[dict[str, Any]] = {
    "schema": {"const": "rig-diff/1"},
    "a": _SAVED,
    "b": _SAVED,
    "differences": _STRINGS,
    "only_a": _STRINGS,
    "only_b": _STRINGS,
    "profiles": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {
                "profile": {"type": "string"},
                "figures": figures_schema("a", "b"),
                "left_out": left_out_schema("a", "b"),
                "fail_if": FAIL_IF_SCHEMA,
            },
            "required": ["profile", "figures", "left_out", "fail_if"],
            "additionalProperties": False,
        },
    },
}
SCHEMA: Final = {
    "type": "object",
    "properties": _PROPERTIES,
    "required": [*_PROPERTIES],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of two profiles, 6 runs each."""
    folder = tmp_path_factory.mktemp("measured")
    path = folder / "a.json"
    specs = ["calibrated:service_ms=50", "async"]
    ended = Place(folder).run(
        "compare", *specs, "--path", "/sleep?ms=50", "--n", "4", "--runs", "6", "--output-format", "json",
        "--output", str(path),
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    for entry in (document := json.loads(path.read_text()))["profiles"]:
        for run in entry["runs"]:
            run["trusted"] = True  # however busy this machine was
    path.write_text(json.dumps(document))
    return path


def with_times(result: Path, factor: float, name: str) -> Path:
    """A copy whose p99 is another."""
    document = json.loads(result.read_text())
    for entry in document["profiles"]:
        for run in entry["runs"]:
            run["p99_ms"] *= factor
    path = result.parent / name
    path.write_text(json.dumps(document))
    return path


def test_a_result_does_not_differ_from_itself(measured: Path, place: Place) -> None:
    ended = place.run("diff", str(measured), str(measured), "--fail-if", "p99 worse by 10%")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert [line for line in lines if line in ("calibrated:service_ms=50", "async")] == [
        "calibrated:service_ms=50",
        "async",
    ]
    figures = [line for line in lines if re.match(r"(wall_ms|p50_ms|p99_ms|throughput_rps|failed %) ", line)]
    assert len(figures) == 10
    assert all(re.search(r"  0%  +1  +~$", line) for line in figures)
    assert lines[-1] == "fail-if: async, p99 worse by 10%: passed, no difference seen, 0% (p=1)"


def test_a_worse_p99_is_exit_1_and_json_has_it(measured: Path, place: Place) -> None:
    slower = with_times(measured, 10, "slower.json")
    ended = place.run("diff", str(measured), str(slower), "--fail-if", "p99 worse by 10%", "--output-format", "json")
    assert (ended.returncode, ended.stderr) == (1, "")
    document = json.loads(ended.stdout)
    jsonschema.validate(document, SCHEMA)
    for entry in document["profiles"]:
        p99 = entry["figures"]["p99"]
        assert (p99["verdict"], p99["change_percent"]) == ("worse", pytest.approx(900))
        assert p99["p"] == pytest.approx(2 / 924)
        assert p99["a"]["interval"][0] <= p99["a"]["median"] <= p99["a"]["interval"][1]
        assert [judged["passed"] for judged in entry["fail_if"]] == [False]
        assert entry["figures"]["wall"]["verdict"] == "~"


def test_another_plan_is_refused_unless_anyway(measured: Path, place: Place) -> None:
    other = measured.parent / "other.json"
    other.write_text(measured.read_text().replace('"over_ms": 1500', '"over_ms": 100'))
    refused = place.run("diff", str(measured), str(other))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "plan of async: over_ms is 1500 in A, 100 in B" in refused.stderr
    assert place.run("diff", str(measured), str(other), "--anyway").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("diff no-such-run other", "rig: no run 'no-such-run' in runs: "),
        ("diff a b --output-format csv", "rig: --output-format takes text or json here"),
        ("diff a b --fail-if p99<3", "rig: --fail-if 'p99<3' is not accepted: write a figure and by how much"),
        ("compare async --fail-if p99 worse", "rig: --fail-if holds each profile against the first: name two or more"),
    ],
)
def test_usage_is_one_line_and_exit_2(place: Place, arguments: str, says: str) -> None:
    words = arguments.replace("p99 worse", "p99_worse").split()
    ended = place.run(*(word.replace("p99_worse", "p99 worse") for word in words))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(says)
    assert ended.stderr.count("\n") == 1
