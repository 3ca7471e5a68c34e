"""Programs that are built before they run: whole or not at all, once, anew from other sources."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from servers.builds import Build, cache
from servers.errors import ProgramError, RuntimeMissing
from servers.runtimes import Runtime
from tests.servers.support import DEADLINE_S, eventually

COMPILER = "import pathlib; o = pathlib.Path('out'); o.mkdir(); (o / 'program').write_text(open('src/a/main').read())"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of built programs, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "loadrig"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "sources" / "src" / "a").mkdir(parents=True)
    (tmp_path / "sources" / "src" / "a" / "main").write_text("one")
    return tmp_path / "sources"


def build_of(sources: Path, script: str = COMPILER, tools: tuple[Runtime, ...] = ()) -> Build:
    return Build("it", sources, ("src",), tools, lambda: [sys.executable, "-c", script], "out", "a moment")


def test_is_built_once_and_anew_from_other_sources(sources: Path, kept: Path) -> None:
    told: list[str] = []
    build = build_of(sources)
    first = build.make(told.append)
    assert build.make(told.append) == first
    assert told == ["building it, once: takes a moment"]
    (sources / "src" / "a" / "main").write_text("two")
    second = build.make()
    assert [(path / "program").read_text() for path in (first, second)] == ["one", "two"]
    assert set(kept.iterdir()) == {first, second}


def test_renamed_source_is_another_build(sources: Path) -> None:
    build = build_of(sources)
    before = build.directory
    (sources / "src" / "a" / "main").rename(sources / "src" / "main")
    assert build.directory != before


def test_sources_are_left_alone(sources: Path) -> None:
    build_of(sources, script=f"{COMPILER}; open('src/a/main', 'w')").make()
    assert [path.name for path in sources.rglob("*")] == ["src", "a", "main"]
    assert (sources / "src" / "a" / "main").read_text() == "one"


def test_failure_has_the_end_of_the_output_and_leaves_nothing(sources: Path, kept: Path) -> None:
    script = "import sys; print(*range(100), '', sep='\\n', flush=True); sys.exit('no such symbol')"
    with pytest.raises(ProgramError, match=r"^it could not be built \(exit status 1\)$") as caught:
        build_of(sources, script).make()
    assert caught.value.log_tail.splitlines() == [*map(str, range(81, 100)), "no such symbol"]
    assert not list(kept.iterdir())


def test_two_at_once_end_in_one(sources: Path, kept: Path, tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=DEADLINE_S)
    begun = tmp_path / "begun"
    # Each waits until the other has begun as well.
    script = f"""
import os, pathlib, time
begun = pathlib.Path({str(begun)!r})
begun.mkdir(exist_ok=True)
(begun / str(os.getpid())).touch()
while len(list(begun.iterdir())) < 2: time.sleep(0.01)
{COMPILER}
"""
    with ThreadPoolExecutor(2) as pool:
        made = [pool.submit(lambda: (both.wait(), build_of(sources, script).make())[1]) for _ in range(2)]
        directories = {one.result(DEADLINE_S) for one in made}
    assert len(directories) == 1
    assert set(kept.iterdir()) == directories


INTERRUPTED = """
import pathlib, sys
from servers.builds import Build
script = "import os, time; open('../compiler', 'w').write(str(os.getpid())); time.sleep(600)"
sources = pathlib.Path(sys.argv[1])
Build("it", sources, ("src",), (), lambda: [sys.executable, "-c", script], "out", "long").make()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_build_is_none_and_its_compiler_ends(sources: Path, kept: Path, number: signal.Signals) -> None:
    builder = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, sources],
        stderr=subprocess.DEVNULL,
        # Started in the background by a shell, this process ignores SIGINT, and its children would too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    compiler = kept / "compiler"
    with builder:
        assert eventually(lambda: compiler.exists() and compiler.read_text())
        builder.send_signal(number)
    pid = int(compiler.read_text())
    assert eventually(lambda: not _lives(pid))
    assert not build_of(sources).directory.exists()
    if number == signal.SIGINT:
        assert list(kept.iterdir()) == [compiler]


def _lives(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_compiler_that_leaves_a_process_behind_is_not_waited_for(sources: Path) -> None:
    daemon = "import subprocess; subprocess.Popen(['sleep', '600'])"
    program = build_of(sources, script=f"{daemon}; {COMPILER}").make()
    assert (program / "program").read_text() == "one"


def test_cache_that_cannot_be_written(sources: Path, kept: Path) -> None:
    kept.parent.mkdir()
    kept.touch()
    with pytest.raises(ProgramError, match=r"^it could not be built: .*/cache/loadrig: File exists$"):
        build_of(sources).make()


def test_compiler_that_makes_nothing(sources: Path) -> None:
    with pytest.raises(ProgramError, match=r"^it could not be built: .*/out: No such file or directory$"):
        build_of(sources, script="").make()


def test_missing_tool_matters_only_until_it_is_built(sources: Path) -> None:
    built = build_of(sources).make()
    missing = Runtime("Tool", 3, lambda: iter(()), ("--version",), r"(\d)", "apt install tool")
    build = build_of(sources, tools=(missing,))
    build.require_tools()
    assert build.make() == built
    (sources / "src" / "more").touch()
    with pytest.raises(RuntimeMissing, match=r"^Tool 3 or later is needed; none was found; to install it: apt install"):
        build.make()


@pytest.mark.parametrize("named", ["", "relative/cache"])
def test_cache_is_in_the_home_folder_where_no_other_is_named(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache() == Path("/home/somebody/.cache/loadrig")
