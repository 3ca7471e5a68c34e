"""`rig` and a user's own servers, by rig.toml and by `--cmd`, on a real server that knows nothing of this project."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.rig.support import COMPARISON_SCHEMA, Place, interrupt, parse_report
from tests.servers.support import eventually

SCRIPT = Path(__file__).parents[1] / "servers" / "own_server.py"
COMMAND = f"{sys.executable} {SCRIPT} {{port}}"
LOAD = ["--path", "/work", "--n", "6", "--over", "150ms"]
"""At 2 at once, 100 ms each: three waves, of which two are late."""


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rig.toml."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "rig.toml").write_text(f"""
        [servers.mine]
        command = "{COMMAND} limit={{workers}}"
        ready = "/health"
        limits = "{{workers}} places"
        concurrency_limit = "workers"
        knobs = {{ workers = 2 }}

        [servers.quick]
        command = "{sys.executable} -c 'raise SystemExit(\\"no settings\\")' {{port}}"
    """)
    return folder


def test_own_profile_is_compared_like_a_built_in_one(place: Place, site: Path) -> None:
    ended = place.run("compare", "mine", "mine:workers=6", "async", *LOAD, "--path", "/work", cwd=site)
    assert (ended.returncode, ended.stderr) == (0, "")
    report = parse_report(ended.stdout)
    assert [(block.spec, block.args) for block in report.blocks] == [
        ("mine", ""),
        ("mine:workers=6", "--workers=6"),
        ("async", ""),
    ]
    assert report.blocks[0].server == f"{COMMAND} limit={{workers}}; 2 places"
    two, six, no_such_path = (block.runs[0] for block in report.blocks)
    assert (two.figures["ok"], six.figures["ok"], no_such_path.failures) == (6, 6, {"http-4xx": 6})
    assert two.figures["wall_ms"] is not None
    assert two.figures["wall_ms"] >= 299
    assert report.sentences[0].startswith("Raising workers from 2 to 6 ")
    place.assert_empty()


def test_file_may_have_another_name(place: Place, site: Path) -> None:
    file = (site / "rig.toml").rename(site / "other.toml")
    assert "mine" not in place.run("profiles", cwd=site).stdout
    listed = place.run("profiles", "--config", str(file)).stdout.split("\n\n")
    assert listed[-3:-1] == [
        f"mine  ({COMMAND} limit={{workers}})\n"
        "    limited by 2 places\n"
        "    workers=2  of this server; a whole number from 0 to 1000000000",
        f"quick  ({sys.executable} -c 'raise SystemExit(\"no settings\")' {{port}})\n    limit not known",
    ]


def test_commands_are_named_in_turn_and_come_after_the_profiles(place: Place, tmp_path: Path) -> None:
    commands = ["--cmd", f"{COMMAND} limit=2", "--cmd", f"{COMMAND} limit=6", "--ready", "/health"]
    ended = place.run("compare", *commands, "calibrated:limit=2", *LOAD, "--output-format", "json")
    assert (ended.returncode, ended.stderr) == (0, "")
    document = json.loads(ended.stdout)
    jsonschema.validate(document, COMPARISON_SCHEMA)
    shown = [(entry["profile"], entry["concurrency_limit"], entry["limit_known"]) for entry in document["profiles"]]
    assert shown == [("calibrated:limit=2", 2, True), ("cmd", None, False), ("cmd-2", None, False)]
    assert [entry["limits"] for entry in document["profiles"][1:]] == ["limit not known"] * 2
    assert [entry["runs"][0]["ok"] for entry in document["profiles"]] == [0, 6, 6]
    place.assert_empty()


def test_block_shows_the_command(place: Place) -> None:
    ended = place.run("compare", "--cmd", COMMAND, *LOAD)
    assert (ended.returncode, ended.stderr) == (0, "")
    (block,) = parse_report(ended.stdout).blocks
    assert (block.spec, block.server, block.args) == ("cmd", f"{COMMAND}; limit not known", "")


def test_own_server_is_served(place: Place, site: Path) -> None:
    with place.running("serve", "mine", "--port", "0", "--config", str(site / "rig.toml")) as rig:
        assert rig.stdout is not None
        assert rig.stdout.readline().startswith(f"mine ({COMMAND} limit={{workers}}) listens on http://127.0.0.1:")
        assert rig.stdout.readline() == "limited by 2 places\n"
        interrupt(rig)
    place.assert_empty()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["quick"], "rig: quick ended (exit status 1) before it was ready: no settings"),
        (["--cmd", "no-such-server {port}"], "rig: cmd ended (exit status 1) before it was ready: cannot run no-such-"),
        (["--cmd", f"{COMMAND} chatty limit=x"], "rig: cmd ended (exit status 1) before it was ready: ValueError: inv"),
    ],
)
def test_server_that_ends_at_once_is_exit_3_and_stops_the_others(
    place: Place, site: Path, arguments: list[str], says: str
) -> None:
    ended = place.run("compare", "mine", *arguments, *LOAD, cwd=site)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith(says)
    assert not place.servers()


def test_children_that_ignore_the_stop_are_gone_too(place: Place) -> None:
    ended = place.run("compare", "--cmd", f"{COMMAND} stubborn chatty", *LOAD)
    assert (ended.returncode, ended.stderr) == (0, "")
    place.assert_empty()


def test_killed_rig_leaves_no_own_server(place: Place, site: Path) -> None:
    config = ["--config", str(site / "rig.toml")]
    with place.running("compare", "mine", "--path", "/work", "--n", "10000", "-c", "4", *config) as rig:
        assert eventually(place.servers)
        rig.kill()
        assert eventually(lambda: not place.servers())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compare"], "rig: Missing argument 'PROFILE': name one or more, or give a server's own --cmd 'COMMAND'\n"),
        (["compare", "--cmd", "serve"], "rig: --cmd 'serve' lacks {port}: "),
        (["compare", "async", "--ready", "/"], "rig: --ready is about the servers of --cmd, and there is none\n"),
        (["compare", "min"], "rig: no profile 'min', did you mean mine?; profiles: threads,"),
        (["compare", "mine:worker=1"], "rig: profile mine has no knob 'worker', did you mean workers?; its knobs: wor"),
        (["serve", "mine:workers=x"], "rig: workers of profile mine is a whole number from 0 to 1000000000, not 'x'"),
        (["profiles", "--config", "none.toml"], "rig: none.toml: No such file or directory\n"),
    ],
)
def test_misuse_is_one_line(place: Place, site: Path, arguments: list[str], says: str) -> None:
    refused = place.run(*arguments, cwd=site)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(says)
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["profiles", "serve async", "compare async"])
def test_mistake_in_the_file_is_one_line_in_each_command(place: Place, site: Path, command: str) -> None:
    (site / "rig.toml").write_text("[servers.mine]\ncommand = \n")
    refused = place.run(*command.split(), cwd=site)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "rig: rig.toml: is no TOML: Invalid value (at line 2, column 11)\n"
