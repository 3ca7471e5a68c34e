"""The command: arguments, messages, exit codes."""

from __future__ import annotations

import signal
import socket

import pytest

from servers.calibrated.cli import main
from tests.calibrated.harness import running
from tests.servers.support import DEADLINE_S


def exit_code(argv: list[str]) -> object:
    """Returns what the command ends with, argparse's way of ending included."""
    try:
        return main(argv)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("--limit -1", "limit: accepted is 0 to 1000000, not -1"),
        ("--limit many", "accepted is a whole number, not 'many'"),
        ("--port 65536", "port: accepted is 0 to 65535, not 65536"),
        ("--service-ms nan", "service_ms: accepted is 0 to 86400000, not nan"),
        ("--service-ms 1,5", "accepted is a number, not '1,5'"),
        ("--service-ms 100 --jitter-ms 101", "jitter_ms: accepted is 0 to the service time, not 101.0"),
        ("--backlog -1", "backlog: accepted is 0 to 2147483647, not -1"),
        ("--connections -5", "connections: accepted is 0 to 1000000, not -5"),
        ("--shed", "shed: needs a limit above 0 to shed beyond"),
        ("--stall 100", "stall: accepted is P/Q in milliseconds, such as 1000/200, not '100'"),
        ("--stall 100/x", "stall: accepted is P/Q"),
        ("--stall inf/1", "stall: accepted is P/Q"),
        ("--stall 100/100", "stall: accepted is P/Q in milliseconds with 0 < Q < P"),
        ("--stall 100/0", "stall: accepted is P/Q in milliseconds with 0 < Q < P"),
        ("--host 203.0.113.1 --port 0", "cannot listen on 203.0.113.1:0: "),
        (f"--host {'x' * 70} --port 0", "cannot listen on xxx"),
        ("--unknown", "unrecognized arguments: --unknown"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_2(
    args: str, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servers.calibrated.cli.prepare_process", lambda: None)
    code = exit_code(args.split())
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("calibrated: ")
    assert says in err
    assert err.count("\n") == 1


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("servers.calibrated.cli.prepare_process", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 2
    assert capsys.readouterr().err == f"calibrated: cannot listen on 127.0.0.1:{port}: Address already in use\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_with_exit_0(number: signal.Signals) -> None:
    with running() as server:
        server.process.send_signal(number)
        assert server.process.wait(DEADLINE_S) == 0
