"""What the command says of itself, and to whoever asks for something it does not have."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from servers.catalog import PROFILES
from servers.profile import spoken
from tests.rig.support import Place


def test_profiles_lists_each_with_knobs_and_limit(place: Place) -> None:
    listed = place.run("profiles")
    assert (listed.returncode, listed.stderr) == (0, "")
    paragraphs = [paragraph.splitlines() for paragraph in listed.stdout.strip().split("\n\n")]
    assert [lines[0] for lines in paragraphs] == [f"{p.name}  ({p.server})" for p in PROFILES.values()]
    for profile, (_, limit, *lines) in zip(PROFILES.values(), paragraphs, strict=True):
        knobs = [line for line in lines if not line.startswith("    needs ")]
        assert re.fullmatch(r"    limited by \S.*", limit)
        assert [line.split()[0] for line in knobs] == [f"{k.name}={spoken(k.default)}" for k in profile.knobs]
        for knob, line in zip(profile.knobs, knobs, strict=True):
            assert line.endswith(f"{knob.meaning}; {knob.kind.accepts}")


@pytest.mark.parametrize("arguments", [[], ["compare", "--help"]], ids=" ".join)
def test_help(place: Place, arguments: list[str]) -> None:
    shown = place.run(*arguments)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Usage: rig")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("serve zebra", "no profile 'zebra'; profiles: threads, gthread,"),
        ("serve threads --port 70000", "Invalid value for '--port': Input should be less than or equal to 65535"),
        ("serve threads --host 192.0.2.1", "cannot listen on 192.0.2.1 port 8080: Cannot assign requested address"),
        ("compare", "Missing argument 'PROFILE'"),
        ("compare async thread", "no profile 'thread', did you mean threads?; profiles: threads, gthread,"),
        ("compare async threads:thread=1", "profile threads has no knob 'thread', did you mean threads?; its knobs:"),
        ("compare async threads:threads=0", "threads of profile threads is a whole number from 1 to 10000, not '0'"),
        ("compare async --path json", "--path 'json' is not accepted: it must begin with /"),
        ("compare async --n 0", "0 requests are not accepted: --n takes 1 or more"),
        ("compare async --n 4 -c 5", "a concurrency of 5 is not accepted: -c takes 1 to the number of requests, 4"),
        ("compare async --n 999999999", "requests at once need as many descriptors"),
        ("compare async --runs 0", "0 runs are not accepted: --runs takes 1 or more"),
        ("compare async -H novalue", "header 'novalue' is not accepted: write it as 'Name: value'"),
        ("compare async --body-file /nowhere/body", "--body-file /nowhere/body: No such file or directory"),
        ("compare async --output /nowhere/out", "--output /nowhere/out: No such file or directory"),
        ("doctor --output-format hdr", "--output-format takes text or json here"),
        ("tasks --work sleep:1ms --output-format hdr", "--output-format takes text, json or csv here"),
        (
            "thread-cost --output-format hdr",
            "--output-format hdr is not accepted: thread-cost has no rows; text or json",
        ),
        ("compare async --samples samples.json", "--samples samples.json: the name must end in .csv"),
    ],
)
def test_misuse_is_one_line_before_anything_starts(place: Place, arguments: str, says: str) -> None:
    os.utime(place.path, ns=(0, 0))
    refused = place.run(*arguments.split())
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("rig: ")
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1
    # A server's folder, made and removed again, would have left its mark.
    assert place.path.stat().st_mtime_ns == 0


def test_file_of_another_kind_is_not_emptied(place: Place, tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("kept")
    assert place.run("compare", "async", "--samples", str(precious)).returncode == 2
    assert place.run("compare", "zebra", "--output", str(precious)).returncode == 2
    assert precious.read_text() == "kept"
