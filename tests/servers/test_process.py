from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from servers import process
from servers.catalog import Instance, Profile, parse_spec
from servers.errors import PortInUse, RuntimeMissing, StartError, UsageError
from servers.ports import free_port
from servers.process import RunningServer, spawn, start
from tests.servers.support import SPECS, ask, asking, counted, eventually, group_of, runnable


def scripted(script: str, *arguments: str) -> Instance:
    """A server that is a Python script; `{port}` in an argument is the port."""

    def command(_: object, __: str, port: int) -> list[str]:
        return [sys.executable, "-c", script, *(argument.format(port=port) for argument in arguments)]

    return instance_of(command)


def instance_of(command: Callable[[object, str, int], list[str]]) -> Instance:
    profile = Profile(
        name="own",
        server="a script",
        knobs=(),
        limits=lambda _: "unknown",
        concurrency_limit=lambda _: None,
        command=command,
        ready="/",
    )
    return parse_spec("own", {"own": profile})


HTTP_SERVER = """
import http.server, signal, sys
if "stubborn" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.fixture
def taken_port() -> Iterator[int]:
    # Bound but not listening: who asks there is refused at once.
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        yield owner.getsockname()[1]


def test_given_port_is_used_and_free_again_after_stop() -> None:
    port = free_port("127.0.0.1")
    for _ in range(2):
        with start(parse_spec("threads"), port=port) as server:
            assert server.port == port
            assert server.url == f"http://127.0.0.1:{port}"
            assert ask(server, "/json").status == 200


def test_port_in_use_is_said_before_anything_starts(taken_port: int, tmp_path: Path) -> None:
    with pytest.raises(PortInUse, match=f"^port {taken_port} on 127.0.0.1 is in use"):
        start(parse_spec("threads"), port=taken_port, directory=tmp_path / "unused")
    assert not (tmp_path / "unused").exists()


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", -1), ("127.0.0.1", 65_536), ("203.0.113.1", 0)])
def test_place_where_nobody_can_listen(host: str, port: int) -> None:
    with pytest.raises(UsageError) as error:
        start(parse_spec("threads"), host, port)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("spec", ["threads", "granian", "aiohttp"])
def test_another_port_is_tried_when_somebody_was_faster(
    spec: str, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = [taken_port, taken_port]
    monkeypatch.setattr(process, "free_port", lambda host: ports.pop() if ports else free_port(host))
    with start(parse_spec(spec)) as server:
        assert server.port != taken_port
        assert not ports


def test_port_taken_each_time_ends_in_an_error(
    taken_port: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "free_port", lambda _: taken_port)
    with pytest.raises(StartError, match="Address already in use"):
        start(parse_spec("threads"), directory=tmp_path)


def test_crash_at_start_is_one_line_with_the_end_of_the_log(tmp_path: Path) -> None:
    script = "import sys; print(*range(100), sep='\\n'); sys.exit('no such thing')"
    with pytest.raises(StartError) as caught:
        start(scripted(script), directory=tmp_path)
    error = caught.value
    assert str(error) == "own ended (exit status 1) before it was ready: no such thing"
    assert error.log_tail.splitlines() == [*map(str, range(81, 100)), "no such thing"]
    assert error.log_path.read_text().startswith("0\n1\n")


def test_log_of_a_crash_is_kept_where_the_caller_named_no_place() -> None:
    with pytest.raises(StartError) as caught:
        start(scripted("raise SystemExit('gone')"))
    assert caught.value.log_path.read_text() == "gone\n"
    shutil.rmtree(caught.value.log_path.parent)


def test_missing_runtime(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot run no-such-runtime: No such file or directory"):
        start(instance_of(lambda *_: ["no-such-runtime"]), directory=tmp_path)


def test_not_ready_in_time(tmp_path: Path) -> None:
    server = spawn(scripted("import time; time.sleep(600)"), directory=tmp_path)
    with pytest.raises(StartError, match=r"^own was not ready within 0.3 s \(nobody listens on 127.0.0.1:\d+\)$"):
        server.wait_ready(0.3)
    assert not group_of(server.pid)


def test_own_command_in_its_environment_and_directory(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "hello").write_text("world")
    own = scripted(HTTP_SERVER, "{port}")
    own = dataclasses.replace(own, profile=dataclasses.replace(own.profile, directory=tmp_path / "served"))
    with start(own, directory=tmp_path) as server:
        assert ask(server, "/hello").text == "world"
        assert server.stats() is None


def test_descriptor_limit_is_the_hard_one() -> None:
    with start(parse_spec("threads")) as server:
        limits = Path(f"/proc/{server.pid}/limits").read_text()
    soft, hard = next(line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files"))
    assert soft == hard


@pytest.mark.parametrize("spec", SPECS)
def test_stop_leaves_no_process_even_under_load(spec: str) -> None:
    server = start(runnable(spec))
    log = server.log_path
    with asking(server, "/sleep?ms=60000", 4) as answers:
        assert eventually(lambda: counted(server).in_flight >= 2)
        server.stop()
    assert all(answer.exception() is not None or answer.result().status >= 500 for answer in answers)
    assert not group_of(server.pid)
    assert not server.alive()
    assert not log.parent.exists()
    server.stop()


def test_stop_ends_a_server_that_ignores_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_GRACE_S", 0.2)
    with start(scripted(HTTP_SERVER, "{port}", "stubborn")) as server:
        pass
    assert server.returncode == -signal.SIGKILL
    assert not group_of(server.pid)


@pytest.mark.parametrize("spec", ["threads", "gthread:workers=2", "async:workers=2"])
def test_death_is_noticed_and_takes_the_workers_along(spec: str, tmp_path: Path) -> None:
    with start(parse_spec(spec), directory=tmp_path) as server:
        assert server.alive()
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: not server.alive())
        assert server.returncode == -signal.SIGKILL
        assert eventually(lambda: not group_of(server.pid))


def test_server_outlives_the_thread_that_started_it() -> None:
    started: list[RunningServer] = []
    thread = threading.Thread(target=lambda: started.append(start(parse_spec("threads"))))
    thread.start()
    thread.join()
    with started[0] as server:
        assert {ask(server, "/sleep?ms=20").status for _ in range(5)} == {200}


STARTER = """
import sys, time
from servers.catalog import parse_spec
from servers.process import spawn
servers = [spawn(parse_spec(spec)) for spec in sys.argv[1:]]
print(*(server.wait_ready().pid for server in servers), flush=True)
time.sleep(600)
"""


def has_runtime(spec: str) -> bool:
    try:
        parse_spec(spec).require_runtime()
    except RuntimeMissing:
        return False
    return True


def test_servers_end_with_a_starter_that_is_killed(tmp_path: Path) -> None:
    specs = [spec for spec in SPECS if has_runtime(spec)]
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, *specs],
        stdout=subprocess.PIPE,
        text=True,
        # It cannot tidy up.
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with starter:
        assert starter.stdout is not None
        pids = [int(pid) for pid in starter.stdout.readline().split()]
        assert len(pids) == len(specs)
        assert all(group_of(pid) for pid in pids)
        starter.kill()
    assert eventually(lambda: not any(group_of(pid) for pid in pids))


def test_several_start_at_once_and_each_on_its_own_port() -> None:
    servers = [spawn(parse_spec("threads")) for _ in range(4)]
    try:
        assert len({server.wait_ready().port for server in servers}) == 4
    finally:
        for server in servers:
            server.stop()
