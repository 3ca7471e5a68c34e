"""`rig serve`: one real server in the foreground, and its end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import urllib.request

import psutil
import pytest

from tests.rig.support import PATIENCE_S, Place, interrupt
from tests.servers.support import runnable


def line(process: subprocess.Popen[str]) -> str:
    """The next line on stdout, once it is there."""
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize(
    ("spec", "server", "limit", "number"),
    [
        ("threads:threads=4", "waitress, WSGI", "4 threads", signal.SIGINT),
        ("gthread:threads=4,workers=2", "gunicorn gthread, WSGI", "2 processes of 4 threads", signal.SIGTERM),
        ("processes:workers=1", "gunicorn sync, WSGI", "1 process, one request each", signal.SIGINT),
        (
            "async:workers=2",
            "uvicorn, Starlette async def",
            "nothing but the CPU (2 processes of one event loop)",
            signal.SIGINT,
        ),
        (
            "greenlets",
            "gevent pywsgi, WSGI",
            "nothing but the CPU (a greenlet a request, one thread)",
            signal.SIGTERM,
        ),
        ("node", "Node's http", "nothing but the CPU (one event loop)", signal.SIGTERM),
    ],
)
def test_serves_until_stopped(place: Place, spec: str, server: str, limit: str, number: signal.Signals) -> None:
    runnable(spec)
    with place.running("serve", spec, "--port", "0") as rig:
        said = re.fullmatch(rf"{spec} \({server}\) listens on (http://127\.0\.0\.1:\d+)\n", line(rig))
        assert said
        assert (line(rig), line(rig)) == (f"limited by {limit}\n", "Ctrl-C stops it\n")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{said[1]}/sleep?ms=1", timeout=PATIENCE_S) as answer:
            assert answer.read() == b"slept 1 ms\n"
        processes = {process.pid for process in place.servers()}
        assert {child.pid for child in psutil.Process(rig.pid).children(recursive=True)} == processes
        assert interrupt(rig, number) == ("", "")
        assert rig.returncode == 0
        place.assert_empty()


def test_may_be_stopped_as_soon_as_it_has_said_where_it_listens(place: Place) -> None:
    with place.running("serve", "async", "--port", "0") as rig:
        line(rig)
        # While it says the rest: no answer is awaited before.
        _, stderr = interrupt(rig)
        assert (rig.returncode, stderr) == (0, "")
        place.assert_empty()


def test_given_port_is_used_and_then_in_use(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as owner:
        port = owner.getsockname()[1]
        refused = place.run("serve", "async", "--port", str(port))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"rig: port {port} on 127.0.0.1 is in use: name another, or 0 for any free one\n"
    place.assert_empty()
    with place.running("serve", "async", "--port", str(port)) as rig:
        assert line(rig).endswith(f" listens on http://127.0.0.1:{port}\n")
        interrupt(rig)


def test_crash_at_start_is_one_line_and_the_end_of_the_log(broken_place: Place) -> None:
    crashed = broken_place.run("serve", "threads", "--port", "0")
    assert (crashed.returncode, crashed.stdout) == (3, "")
    said, *log = crashed.stderr.splitlines()
    why = "ImportError: waitress was built for another Python"
    assert said == f"rig: threads ended (exit status 1) before it was ready: {why}"
    assert log[-1] == why
    assert not broken_place.servers()


def test_server_that_dies_ends_it(place: Place) -> None:
    with place.running("serve", "gthread:threads=4", "--port", "0") as rig:
        line(rig)
        os.kill(place.server("servers.launch.gunicorn").pid, signal.SIGKILL)
        _, stderr = rig.communicate(timeout=PATIENCE_S)
        assert rig.returncode == 3
        assert stderr == "rig: gthread:threads=4 ended by itself\n"
        assert not place.servers()


def test_stopped_while_it_starts(place: Place) -> None:
    with place.running("serve", "async", "--port", "0") as rig:
        while rig.poll() is None and not place.servers():
            pass
        stdout, stderr = interrupt(rig)
        assert (rig.returncode, stdout, stderr) == (130, "", "")
        place.assert_empty()


def test_servers_end_with_a_rig_that_is_killed(place: Place) -> None:
    with place.running("serve", "gthread:workers=2", "--port", "0") as rig:
        line(rig)
        servers = place.servers()
        assert len(servers) == 3
        rig.kill()
        gone, alive = psutil.wait_procs(servers, timeout=10)
        assert (len(gone), alive) == (3, [])
