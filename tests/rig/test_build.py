"""`rig build`, and what is built at first use: with tools that are scripts, where only their end matters."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.runtimes import MAVEN
from tests.rig.support import Place

MADE = "mkdir -p target/server && echo built > target/server/spring.jar"
FAILED = "echo '[ERROR] no such host'; exit 1"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder that stands first on PATH, with a Java and a compiler; no Maven."""
    folder = tmp_path / "tools"
    folder.mkdir()
    script(folder / "java", "echo 'openjdk version \"21.0.1\"'")
    script(folder / "javac", "echo javac 17.0.1")
    return folder


@pytest.fixture
def place(tmp_path: Path, tools: Path) -> Place:
    (tmp_path / "place").mkdir()
    path = f"{tools}:{tmp_path / 'basics'}"
    (tmp_path / "basics").mkdir()
    for name in ("mkdir", "sh"):
        (tmp_path / "basics" / name).symlink_to(f"/bin/{name}")
    return Place(tmp_path / "place", PATH=path, JAVA_HOME="", XDG_CACHE_HOME=str(tmp_path / "cache"))


def script(path: Path, commands: str) -> None:
    path.write_text(f"#!/bin/sh\n{commands}\n")
    path.chmod(0o755)


def maven(tools: Path, build: str) -> None:
    script(tools / "mvn", f'[ "$1" = --version ] && echo Apache Maven 3.9.9 && exit\n{build}')


def test_builds_once_and_says_where(place: Place, tools: Path, tmp_path: Path) -> None:
    maven(tools, MADE)
    first, second = place.run("build", "spring"), place.run("build")
    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stderr.startswith("rig: building spring, once: takes ")
    assert second.stderr == ""
    (built,) = (tmp_path / "cache" / "loadrig").iterdir()
    assert first.stdout == second.stdout == f"spring: {built}\n"
    assert (built / "spring.jar").read_text() == "built\n"


@pytest.mark.parametrize("command", ["build", "serve spring --port 0", "compare async spring --n 4"])
def test_missing_maven_is_one_line(place: Place, tmp_path: Path, command: str) -> None:
    refused = place.run(*command.split())
    assert (refused.returncode, refused.stdout) == (3, "")
    needed = f"Maven 3 or later is needed; none was found; to install it: {MAVEN.install}"
    assert refused.stderr == f"rig: spring: {needed}\n"
    assert not (tmp_path / "cache").exists()


def test_profiles_tells_the_tool_that_is_missing_until_it_is_built(place: Place, tools: Path) -> None:
    needs = f"    needs Maven 3 or later: none was found; to install it: {MAVEN.install}\n"
    assert place.run("profiles").stdout.count(needs) == 1
    maven(tools, MADE)
    place.run("build")
    (tools / "mvn").unlink()
    assert needs not in place.run("profiles").stdout


@pytest.mark.parametrize("command", ["build spring", "serve spring --port 0"])
def test_failed_build_is_one_line_and_the_end_of_its_output(place: Place, tools: Path, command: str) -> None:
    maven(tools, FAILED)
    failed = place.run(*command.split())
    assert (failed.returncode, failed.stdout) == (3, "")
    assert failed.stderr.splitlines()[1:] == [
        "rig: spring could not be built (exit status 1)",
        "[ERROR] no such host",
    ]
    place.assert_empty()


def test_profile_that_needs_no_building(place: Place) -> None:
    refused = place.run("build", "async")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "rig: profile async needs no building; those that do: spring\n"
