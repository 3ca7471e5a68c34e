from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.cli.test_failures import failures, figures
from tests.document_schema import DOCUMENT
from tests.support import PATIENCE_S, Server, script_environment, start_script


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_measured_is_printed_and_the_rest_is_cancelled(server: Server, number: signal.Signals) -> None:
    with start_script("loadgen", server.url("/sleep/30"), "-n", "5000", "-c", "5", "--runs", "3") as process:
        server.wait_for_requests(20)
        process.send_signal(number)
        sent = time.monotonic()
        output, notes = process.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - sent < 5
    assert process.returncode == 130
    assert "Traceback" not in notes
    assert output.count("-- N=") == 1
    shown = figures(output)
    assert int(shown["ok"]) >= 15
    assert int(shown["ok"]) + int(shown["failed"]) == int(shown["requests"]) == 5000
    assert failures(output) == {"cancelled": int(shown["failed"])}


def test_a_burst_in_flight_is_cancelled_as_a_whole(server: Server) -> None:
    with start_script("loadgen", server.url("/never"), "-n", "50", "--output-format", "json") as process:
        server.wait_for_requests(50)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    document = json.loads(output)
    jsonschema.validate(document, DOCUMENT)
    (run,) = document["runs"]
    assert run["interrupted"]
    assert run["failures"] == {"cancelled": 50}
    assert run["min_ms"] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_in_a_pause_keeps_the_runs_before_it(server: Server, number: signal.Signals) -> None:
    with start_script("loadgen", server.url(), "-n", "5", "--runs", "2", "--pause", "1h", "--quiet") as process:
        assert process.stdout is not None
        first = process.stdout.readline() + process.stdout.readline()
        process.send_signal(number)
        rest, notes = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert figures(first)["ok"] == "5"
    assert (rest, notes) == ("", "")


def test_an_interrupted_warm_up_prints_no_run(server: Server) -> None:
    with start_script("loadgen", server.url("/never"), "-n", "5", "--warmup", "1") as process:
        server.wait_for_requests(5)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output) == (130, "")


# The interpreter's own start is not ours to make quiet. This option tells when it is over: on stderr, module by module.
_SAYS_IMPORTS = ("-X", "importtime", "-m", "loadgen")
_FIRST_OF_OURS = "loadgen.errors\n"


def interrupt_at(url: str, moment: Callable[[], object]) -> tuple[int, str]:
    """The exit code and what was said on stderr, of a command that was interrupted when `moment` returned."""
    process = subprocess.Popen(
        [sys.executable, *_SAYS_IMPORTS, url, "-n", "40", "-c", "8", "--runs", "2", "--quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=script_environment(),
    )
    said: list[str] = []
    started = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            if not line.startswith("import time:"):
                said.append(line)
            elif line.endswith(_FIRST_OF_OURS):
                started.set()

    with process:
        listening = threading.Thread(target=listen)
        listening.start()
        assert started.wait(PATIENCE_S)
        moment()
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE_S)
        listening.join(PATIENCE_S)
    return code, "".join(said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_after_the_last_word_changes_nothing(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "said.py").write_text(
        "import atexit, os\n"
        "from loadgen.entry import all_is_loaded\n"
        "def main():\n"
        "    all_is_loaded()\n"
        f"    atexit.register(os.kill, os.getpid(), {int(number)})\n"
        "    return 3\n"
    )
    command = [sys.executable, "-c", "from loadgen.entry import enter; enter('said')"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, b"", b"")


def test_no_moment_of_an_interruption_ends_in_a_traceback(server: Server) -> None:
    moments = random.Random(5)
    for _ in range(20):
        wait_s = moments.uniform(0, 0.6)
        code, said = interrupt_at(server.url("/sleep/20"), lambda wait_s=wait_s: time.sleep(wait_s))  # type: ignore[misc]
        assert said == "", f"interrupted {wait_s} s after the start"
        assert code in (0, 130)
