"""What goes wrong, and what the user gets."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest

from tests.cli.conftest import Loadgen
from tests.support import Server, start_script, unused_port


def figures(text: str, run: int = 1) -> dict[str, str]:
    """The keys and values of a run's line."""
    line = [line for line in text.splitlines() if line.startswith("requests=")][run - 1]
    return dict(pair.split("=") for pair in line.split())


def failures(text: str) -> dict[str, int]:
    """The classes and counts of the `failed:` line; none where there is no such line."""
    match = re.search(r"^failed: (.*)$", text, re.MULTILINE)
    return {name: int(count) for name, count in (pair.split("=") for pair in match[1].split())} if match else {}


def test_a_server_that_is_not_there(loadgen: Loadgen) -> None:
    ended = loadgen(f"http://127.0.0.1:{unused_port()}/", "--quiet")
    assert ended.returncode == 3
    heading, line, failed = ended.stdout.splitlines()
    assert heading == "-- N=400 run 1"
    assert re.fullmatch(
        r"requests=400 concurrency=400 ok=0 failed=400 wall_ms=\d+ min_ms=n/a p50_ms=n/a max_ms=n/a over1500ms=0", line
    )
    assert failed == "failed: refused=400"
    assert ended.stderr == ""


def test_a_name_without_an_address(loadgen: Loadgen) -> None:
    ended = loadgen("http://nonexistent.invalid/", "-n", "4", "--runs", "2")
    assert ended.returncode == 3
    assert ended.stdout.count("failed: dns=4\n") == 2
    assert "min_ms=n/a" in ended.stdout


def test_a_server_that_dies_in_mid_run(server: Server) -> None:
    with start_script("loadgen", server.url("/sleep/20"), "-n", "2000", "-c", "10") as process:
        server.wait_for_requests(50)
        server.die()
        output, notes = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in notes
    shown, classes = figures(output), failures(output)
    assert int(shown["ok"]) >= 40
    assert int(shown["ok"]) + int(shown["failed"]) == int(shown["requests"]) == 2000
    assert sum(classes.values()) == int(shown["failed"])
    assert set(classes) <= {"refused", "reset", "closed", "stale"}
    assert shown["min_ms"] != "n/a"


def test_a_server_that_dies_between_runs(server: Server) -> None:
    with start_script("loadgen", server.url(), "-n", "5", "--runs", "2", "--pause", "1s") as process:
        assert process.stdout is not None
        first = process.stdout.readline() + process.stdout.readline()  # the first run is over when it is printed
        server.die()
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 0, "something was measured"
    assert figures(first)["ok"] == "5"
    assert failures(output) == {"refused": 5}


def test_a_server_that_never_answers_is_bounded_by_the_timeout(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/never"), "-n", "10", "--timeout", "300ms", "--over", "300ms")
    assert ended.returncode == 3
    shown = figures(ended.stdout)
    assert failures(ended.stdout) == {"timeout": 10}
    assert 300 <= int(shown["wall_ms"]) < 5000
    assert shown["over300ms"] == "10"


def test_a_server_that_hangs_up(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/close"), "-n", "5")
    assert ended.returncode == 3
    assert failures(ended.stdout) == {"closed": 5}


# Usage


@pytest.mark.parametrize(
    ("arguments", "accepted"),
    [
        (["--n", "0"], "--n takes 1 or more"),
        (["--n", "-5"], "--n takes 1 or more"),
        (["--n", "many"], "'--n'"),
        (["--runs", "0"], "--runs takes 1 or more"),
        (["-c", "0"], "-c takes 1 to the number of requests, 400"),
        (["http:///sleep"], "it has no host, as in http://127.0.0.1:8080/sleep"),
        (["ftp://127.0.0.1/"], "it must begin with http:// or https://"),
        (["http://127.0.0.1:0/"], "a port is 1 to 65535"),
        (["http://a..b/"], "is not a host name"),
        (["-H", "no colon"], "write it as 'Name: value'"),
        (["-H", "X: a\nb"], "control character"),
        (["--body-file", "/nonexistent/body"], "name a file that can be read"),
        (["--body", "a", "--body-file", "b"], "give one"),
        (["--samples", "/nonexistent/s.csv"], "name a file that can be written"),
        (["-o", "/nonexistent/out.txt"], "name a file that can be written"),
        (["--samples", "samples.txt"], ".csv, .json or .parquet"),
        (["--timeout", "0"], "above 0"),
        (["--engine", "curl"], "'wire', 'aiohttp', 'httpx'"),
        (["--http2"], "--engine httpx"),
        (["--cacert", "/nonexistent/ca.pem", "https://127.0.0.1:1/"], "a PEM file is expected"),
        (["--nonsense"], "No such option: --nonsense"),
        (["http://127.0.0.1/", "http://127.0.0.1:81/"], "all must have one scheme, host and port"),
        (["http://127.0.0.1/", "http://127.0.0.1/b", "--weights", "3"], "a whole number for each URL, here 2"),
        (["http://127.0.0.1/", "--weights", "0"], "a whole number, 1 to 1,000,000"),
        (["--targets", "/nonexistent/targets.txt"], "name a file that can be read"),
        (["--targets", "x", "--weights", "1"], "each line has its own"),
        (["--targets", "x", "--body", "b"], "a line of JSON has its own"),
        (["--targets", "x", "http://127.0.0.1/", "http://127.0.0.1/"], "one URL says where its paths are"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_is_not_accepted_is_one_line_and_exit_2(
    loadgen: Loadgen, arguments: list[str], accepted: str, tmp_path: Path
) -> None:
    ended = loadgen(*arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("loadgen: ")
    assert ended.stderr.count("\n") == 1
    assert accepted in ended.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_file_whose_ending_is_refused_is_left_as_it_was(loadgen: Loadgen, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("precious")
    assert loadgen("--samples", str(notes)).returncode == 2
    assert notes.read_text() == "precious"


def test_an_argument_that_is_not_utf8_is_sent_as_it_is(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/").encode() + b"\xff", "-n", "1")
    assert ended.returncode == 0
    assert server.received[0].path == "/%FF"


def limit_descriptors(soft: int, hard: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_requests_than_descriptors_are_refused_with_the_number_that_does_fit(
    loadgen: Loadgen, server: Server
) -> None:
    ended = loadgen(server.url(), "-n", "100", preexec_fn=lambda: limit_descriptors(100, 100))
    assert ended.returncode == 2
    assert ended.stdout == ""
    match = re.fullmatch(
        r"loadgen: 100 requests at once need as many descriptors, and (\d+) fit here:.*\(ulimit -Hn\)\n", ended.stderr
    )
    assert match is not None
    assert server.connections == 0
    ended = loadgen(server.url("/sleep/20"), "-n", match[1], preexec_fn=lambda: limit_descriptors(100, 100))
    assert ended.returncode == 0
    assert figures(ended.stdout)["ok"] == match[1]


def test_the_soft_limit_is_raised_to_the_hard_one(loadgen: Loadgen, server: Server) -> None:
    ended = loadgen(server.url("/sleep/20"), "-n", "100", preexec_fn=lambda: limit_descriptors(50, 1000))
    assert ended.returncode == 0
    assert figures(ended.stdout)["ok"] == "100"


def test_a_public_address_needs_leave(loadgen: Loadgen) -> None:
    ended = loadgen("http://8.8.8.8/", "-n", "1")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert "--allow-remote" in ended.stderr
    assert "owner" in ended.stderr
