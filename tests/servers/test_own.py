"""A user's own servers: how a rig.toml and a `--cmd` become profiles, and what those do."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from servers import process
from servers.catalog import PROFILES, Instance, parse_spec
from servers.errors import StartError, UsageError
from servers.own.command import command_profiles
from servers.own.file import catalog
from servers.process import start
from tests.servers.support import ask, group_of

SCRIPT = Path(__file__).with_name("own_server.py")
COMMAND = f"{sys.executable} {SCRIPT} {{port}}"

MINE = f"""
[servers.mine]
command = "{COMMAND} limit={{workers}}"
ready = "/health"
directory = "site"
environment = {{ GREETING = "hello-{{workers}}-{{port}}" }}
limits = "{{workers}} places"
concurrency_limit = "workers * threads"
ready_timeout = "10s"

[servers.mine.knobs]
workers = 2
threads = {{ default = 1, min = 1, max = 64, meaning = "threads a worker", option = "--threads {{value}}" }}
quiet = {{ default = false, option = "--quiet" }}
name = {{ default = "x", option = "--name={{value}}" }}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "rig.toml"
    file.write_text(text)
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    return written(tmp_path, MINE)


def of_command(words: str, ready: str | None = None) -> Instance:
    (profile,) = command_profiles([f"{COMMAND} {words}"], ready)
    return parse_spec("cmd", {"cmd": profile})


def test_own_profiles_join_the_built_in_ones(file: Path) -> None:
    assert list(catalog(file)) == [*PROFILES, "mine"]


def test_file_is_looked_for_in_the_working_directory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert "mine" in catalog(None)
    file.unlink()
    assert catalog(None) == PROFILES


@pytest.mark.parametrize(
    ("spec", "args", "limits", "limit", "words"),
    [
        ("mine", "", "2 places", 2, ["limit=2"]),
        ("mine:workers=4", "--workers=4", "4 places", 4, ["limit=4"]),
        ("mine:threads=3", "--threads 3", "2 places", 6, ["limit=2", "--threads", "3"]),
        ("mine:threads=1", "--threads 1", "2 places", 2, ["limit=2", "--threads", "1"]),
        ("mine:quiet=true", "--quiet", "2 places", 2, ["limit=2", "--quiet"]),
        ("mine:quiet=false", "--quiet=false", "2 places", 2, ["limit=2"]),
        ("mine:name=a b", "--name=a b", "2 places", 2, ["limit=2", "--name=a b"]),
        ("mine:workers=0", "--workers=0", "0 places", None, ["limit=0"]),
    ],
)
def test_knobs_reach_command_limits_and_args(
    file: Path, spec: str, args: str, limits: str, limit: int | None, words: list[str]
) -> None:
    instance = parse_spec(spec, catalog(file))
    assert (instance.args, instance.limits, instance.concurrency_limit) == (args, limits, limit)
    assert instance.limit_known
    assert instance.command("127.0.0.1", 4711) == [sys.executable, str(SCRIPT), "4711", *words]


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("workers=-1", "workers of profile mine is a whole number from 0 to 1000000000, not '-1'"),
        ("threads=65", "threads of profile mine is a whole number from 1 to 64, not '65'"),
        ("quiet=maybe", "quiet of profile mine is true or false"),
        ("name=", "name of profile mine is a line of text, without a comma, not ''"),
        ("work=1", "profile mine has no knob 'work', did you mean workers?"),
    ],
)
def test_knobs_take_what_their_default_is(file: Path, setting: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_spec(f"mine:{setting}", catalog(file))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "limits", "limit", "known"),
    [
        ("", "limit not known", None, False),
        ('limits = "its luck"', "its luck", None, False),
        ("concurrency_limit = 5", "5 at once", 5, True),
        ("concurrency_limit = 0", "nothing", None, True),
        ('concurrency_limit = "3 * 4"', "12 at once", 12, True),
        ('concurrency_limit = "999999999 * 999999999 * 9"', "999999999999 at once", 999_999_999_999, True),
        ('limits = """\none\nprocess"""', "one process", None, False),
    ],
)
def test_limit_that_is_not_known_is_told_from_none(
    tmp_path: Path, keys: str, limits: str, limit: int | None, known: bool
) -> None:
    file = written(tmp_path, f'[servers.a]\ncommand = ["serve", "{{port}}", "{{{{}}}}"]\n{keys}\n')
    instance = parse_spec("a", catalog(file))
    assert (instance.limits, instance.concurrency_limit, instance.limit_known) == (limits, limit, known)
    assert instance.command("127.0.0.1", 4711) == ["serve", "4711", "{}"]


def server(keys: str, knobs: str = "") -> str:
    return f"[servers.a]\n{keys}\n[servers.a.knobs]\n{knobs}\n"


GOOD = 'command = "a {port} {w}"'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "x is no key here; accepted: servers"),
        ("servers = 3", "servers is a table, not 3"),
        ("[servers.a\n", "is no TOML: Expected ']' at the end of a table declaration (at line 1, column 11)"),
        ('[servers.threads]\ncommand = "a {port}"', "servers.threads has the name of a built-in profile"),
        ('[servers.cmd-2]\ncommand = "a {port}"', "servers.cmd-2 has the name of a --cmd"),
        ('[servers."a:b"]\ncommand = "a {port}"', "servers.a:b is no server's name"),
        (server(""), "servers.a.command is missing; accepted: text that is not empty, or a list of such"),
        (server("command = 5"), "servers.a.command is text that is not empty, or a list of such, not 5"),
        (server('command = ["a", 5]'), "a list of such, not ['a', 5]"),
        (server('comand = "a {port}"'), "servers.a.comand is no key here, did you mean command?; accepted: command,"),
        (server('command = "a"'), "servers.a.command lacks {port}, and so does environment"),
        (server('command = "a {prt}"'), "has the unknown placeholder {prt}, did you mean port?; accepted: {port}"),
        (server('command = "a {port.x}"'), "has the unknown placeholder {port.x}"),
        (server('command = "a {port"'), "has a brace that is no placeholder, in '{port'"),
        (server('command = "a {port!r}"'), "has a brace that is no placeholder, in '{port!r}'"),
        (
            server('command = "a {port} \'x"'),
            "servers.a.command cannot be split as a shell would: no closing quotation",
        ),
        (server(GOOD + '\nready = "health"', "w = 1"), "servers.a.ready is a path that begins with /, or an http://"),
        (
            server(GOOD + '\nready = "http://[{port}"', "w = 1"),
            "servers.a.ready is a path that begins with /, or an http",
        ),
        (server(GOOD + '\nready = "/a b"', "w = 1"), "servers.a.ready is a path that begins with /, or an http://"),
        (server(GOOD + '\nready = "/{w}"', "w = 1"), "servers.a.ready has the unknown placeholder {w}"),
        (server(GOOD + '\nlimits = "{v}"', "w = 1"), "servers.a.limits has the unknown placeholder {v}"),
        (server(GOOD + '\ndirectory = "x"', "w = 1"), "servers.a.directory is a folder, counted from the file's own;"),
        (server(GOOD + "\nready_timeout = 30", "w = 1"), "servers.a.ready_timeout is text of a number above 0 and"),
        (server(GOOD + '\nready_timeout = "0s"', "w = 1"), "as in '500ms', '30s' or '2m', not '0s'"),
        (server(GOOD + "\nenvironment = { A = 1 }", "w = 1"), "servers.a.environment.A is text, not 1"),
        (server(GOOD + '\nenvironment = { "A=B" = "1" }', "w = 1"), "servers.a.environment.A=B is no variable's name"),
        (server(GOOD + '\nenvironment = { "" = "1" }', "w = 1"), "servers.a.environment. is no variable's name"),
        (
            server(GOOD + '\nenvironment = { A = "{b}" }', "w = 1"),
            "servers.a.environment.A has the unknown placeholder",
        ),
        (server(GOOD + "\nconcurrency_limit = -1", "w = 1"), "servers.a.concurrency_limit is a whole number, one of"),
        (server(GOOD + "\nconcurrency_limit = true", "w = 1"), "the knobs w, or a product of such, as in"),
        (server(GOOD + '\nconcurrency_limit = "w * v"', "w = 1"), "not 'w * v'"),
        (server(GOOD + '\nconcurrency_limit = "w"', 'w = "x"'), "a knob (of whole numbers; there is none)"),
        (server(GOOD, "w = 2.5"), "servers.a.knobs.w.default is a whole number, true, false or text, not 2.5"),
        (server(GOOD, "w = { min = 2 }"), "servers.a.knobs.w.default is missing"),
        (server(GOOD, "w = { default = 2, mi = 1 }"), "servers.a.knobs.w.mi is no key here, did you mean min?"),
        (server(GOOD, "w = { default = 2, min = 3 }"), "servers.a.knobs.w.default is a whole number from 3"),
        (server(GOOD, 'w = { default = 2, min = "3" }'), "servers.a.knobs.w.min is a whole number from 0"),
        (
            server(GOOD, "w = { default = true, min = 3 }"),
            "servers.a.knobs.w.min is only for a knob whose default is a",
        ),
        (server(GOOD, 'w = ""'), "servers.a.knobs.w.default is a line of text, without a comma, not ''"),
        (server(GOOD, 'w = "a\\nb"'), "servers.a.knobs.w.default is a line of text, without a comma, not 'a\\nb'"),
        (server('"a\\nb" = 1'), "servers.a.'a\\nb' is no key here"),
        (server(GOOD, 'w = { default = 2, option = "-w" }'), "servers.a.knobs.w.option lacks {value}, in '-w'"),
        (server(GOOD, "w = 1\nv = 2"), "servers.a.knobs.v goes nowhere: put {v} into command, or give it an option"),
        (server(GOOD, "w = 1\nport = 2"), "servers.a.knobs.port is no knob's name"),
        (server(GOOD, "w = 1\nW = 2"), "servers.a.knobs.W is no knob's name: small letters, digits and _"),
    ],
)
def test_mistake_in_the_file_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        catalog(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/none\.toml: No such file or directory$"):
        catalog(tmp_path / "none.toml")
    (tmp_path / "rig.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"/rig\.toml: is not text in UTF-8"):
        catalog(tmp_path / "rig.toml")


@pytest.mark.parametrize(
    ("commands", "ready", "says"),
    [
        (["serve"], None, "--cmd 'serve' lacks {port}"),
        (["serve {prt} {port}"], None, "has the unknown placeholder {prt}; accepted: {port} {host}"),
        (["serve {port"], None, "is no command: quotes and braces must be closed"),
        (["serve 'x {port}"], None, "is no command: quotes and braces must be closed"),
        (["serve {port}"], "health", "--ready 'health' is not accepted: it is a path, begins with /, and is percent"),
        (["serve {port}"], "/ü", "--ready '/ü' is not accepted: it is a path, begins with /, and is percent-encoded"),
        ([], "/health", "--ready is about the servers of --cmd, and there is none"),
    ],
)
def test_command_that_cannot_be_used(commands: list[str], ready: str | None, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        command_profiles(commands, ready)
    assert says in str(refused.value)


def test_own_server_runs_where_and_with_what_its_file_says(file: Path) -> None:
    with start(parse_spec("mine:workers=3", catalog(file))) as running:
        assert ask(running, "/health").text == f"hello-3-{running.port} {file.parent / 'site'}\n"
        assert running.stats() is None


def test_any_answer_below_500_at_the_root_is_ready_but_a_named_path_must_be_there() -> None:
    with start(of_command("")) as running:
        assert ask(running, "/").status == 404
    with start(of_command("", "/health")) as running:
        assert ask(running, "/health").status == 200
    with pytest.raises(StartError, match=r"cmd was not ready within 0\.7 s \(http://127.*/nothing answers 404\)"):
        start(of_command("", "/nothing"), ready_timeout_s=0.7)


def test_command_on_several_lines_is_shown_on_one(tmp_path: Path) -> None:
    text = '[servers.a]\ncommand = ["python", "-c", "import x\\nx.serve({port})"]\n'
    profile = catalog(written(tmp_path, text))["a"]
    assert profile.server == "python -c 'import x x.serve({port})'"
    assert profile.command({}, "127.0.0.1", 80)[-1] == "import x\nx.serve(80)"


def test_address_of_ipv6_has_its_brackets_in_a_ready_url(tmp_path: Path) -> None:
    text = '[servers.a]\ncommand = "serve {host} {port}"\nready = "http://{host}:{port}/"\n'
    instance = parse_spec("a", catalog(written(tmp_path, text)))
    assert instance.ready_url("http://[::1]:80", "::1", 80) == "http://[::1]:80/"
    assert instance.command("::1", 80) == ["serve", "::1", "80"]


def test_ready_may_be_a_url_of_its_own(tmp_path: Path) -> None:
    text = f'[servers.a]\ncommand = "{COMMAND}"\nready = "http://localhost:{{port}}/health"\n'
    with start(parse_spec("a", catalog(written(tmp_path, text)))) as running:
        assert ask(running, "/health").status == 200


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (f"{COMMAND} unready", r"http://127\.0\.0\.1:\d+/ answers 503"),
        # Port 0 is any other than the one that was asked for.
        (f"{sys.executable} {SCRIPT} 0 not-on-{{port}}", r"nobody listens on 127\.0\.0\.1:\d+"),
    ],
    ids=["answers 503", "listens elsewhere"],
)
def test_server_that_never_gets_ready_is_stopped_and_it_is_said_why(tmp_path: Path, command: str, says: str) -> None:
    (profile,) = command_profiles([command], None)
    spawned = process.spawn(parse_spec("cmd", {"cmd": profile}), directory=tmp_path)
    with pytest.raises(StartError, match=rf"^cmd was not ready within 0\.7 s \({says}\)$"):
        spawned.wait_ready(0.7)
    assert not group_of(spawned.pid)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import os; os.kill(os.getpid(), 35)", r"ended \(signal 35\) before it was ready$"),
        ("raise SystemExit", r"ended \(exit status 0; a server must stay in the foreground\) before it was ready$"),
        (
            r"import os; os.write(1, b'\x1b[31mno\x00 \x1b[1;4mluck\x1b[0m\n'); os.abort()",
            r"ended \(SIGABRT\) before it was ready: no luck$",
        ),
    ],
)
def test_end_at_the_start_is_said_in_words(tmp_path: Path, code: str, says: str) -> None:
    (profile,) = command_profiles([shlex.join([sys.executable, "-c", code, "{port}"])], None)
    with pytest.raises(StartError, match=says):
        start(parse_spec("cmd", {"cmd": profile}), directory=tmp_path)


def test_command_without_a_name(tmp_path: Path) -> None:
    (profile,) = command_profiles(["'' {port}"], None)
    with pytest.raises(StartError, match=r"ended \(exit status 1\) before it was ready: cannot run : execv"):
        start(parse_spec("cmd", {"cmd": profile}), directory=tmp_path)


def test_child_that_answers_for_a_command_that_has_ended_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"cmd ended \(exit status 0; a server must stay in the foreground\)"):
        start(of_command("daemon"), directory=tmp_path)


def test_children_that_ignore_the_stop_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_GRACE_S", 0.2)
    with start(of_command("stubborn")) as running:
        assert len(group_of(running.pid)) == 2
    assert not group_of(running.pid)


def test_long_log_is_kept_and_only_its_end_is_read(tmp_path: Path) -> None:
    with start(of_command("chatty"), directory=tmp_path) as running:
        pass
    assert running.log_path.read_text().count("\n") == 200_000
    assert running.log_tail().splitlines()[-1] == "line 199999 of a log that nobody reads"
    assert len(running.log_tail().splitlines()) == 20
