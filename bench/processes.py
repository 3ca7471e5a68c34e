"""Child processes: started on the cores they are meant for, accounted for, and never left behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import IO, Final

from bench.errors import BenchError

Cpus = frozenset[int]

_GRACE_S: Final = 10.0
"""For a child to end by itself, and to end what it has started, before it is killed."""
_START_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Finished:
    """A child that has ended, and what it took: all of it, from start to end (wait4)."""

    status: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    """User and system time."""
    peak_bytes: int
    """The largest resident set."""
    in_time: bool

    @property
    def complaint(self) -> str:
        """Why it is taken for failed, on one line; empty where it is not."""
        if not self.in_time:
            return "did not end in time"
        if self.status == 0:
            return ""
        last = (self.stderr.strip() or self.stdout.strip()).rpartition("\n")[2]
        return f"exit status {self.status}: {last[:200]}"


def run(command: Sequence[str | Path], *, cpus: Cpus | None = None, limit_s: float = 120.0) -> Finished:
    """Runs a command to its end, or to the end of its time. Whatever raises here, Ctrl-C above all, ends it first."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = perf_counter()
        child = _start(command, cpus=cpus, stdout=out, stderr=err)
        in_time = False
        try:
            in_time = _ends_within(child.pid, limit_s)
            wall_s = perf_counter() - began
        finally:
            if not in_time:
                _stop(child.pid)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)  # Popen need not look for it any more
        return Finished(
            status=child.returncode,
            stdout=_content(out),
            stderr=_content(err),
            wall_s=wall_s,
            cpu_s=used.ru_utime + used.ru_stime,
            peak_bytes=used.ru_maxrss * 1024,
            in_time=in_time,
        )


class ReferenceServer:
    """The reference server as long as the context lasts, on a port of its own."""

    def __init__(self, program: Path, *, cpus: Cpus | None = None) -> None:
        self._program, self._cpus = program, cpus

    def __enter__(self) -> ReferenceServer:
        self._child = _start([self._program, "0"], cpus=self._cpus, stdout=subprocess.PIPE, stderr=None)
        try:
            self.port = self._read_port()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _stop(self._child.pid)
        self._child.wait()
        assert self._child.stdout is not None
        self._child.stdout.close()

    def url(self, path: str) -> str:
        """The URL of a path on it."""
        return f"http://127.0.0.1:{self.port}{path}"

    def _read_port(self) -> int:
        assert self._child.stdout is not None
        ready, _, _ = select.select([self._child.stdout], [], [], _START_S)
        line = self._child.stdout.readline().decode() if ready else ""
        if not line.startswith("listening on port "):
            raise BenchError("the reference server did not start")
        return int(line.split()[-1])


def split_cores() -> tuple[Cpus, Cpus] | None:
    """A core for the server and another for the client; None where there is only one."""
    cores = sorted(os.sched_getaffinity(0))
    return (frozenset(cores[:1]), frozenset(cores[-1:])) if len(cores) > 1 else None


def _start(
    command: Sequence[str | Path], *, cpus: Cpus | None, stdout: IO[bytes] | int, stderr: IO[bytes] | None
) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C comes to the bench alone, which then ends its children in their order.
    with _pinned(cpus):
        return subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=_environment(), start_new_session=True,
        )  # fmt: skip


def _environment() -> Mapping[str, str]:
    """Without what would send a client's requests elsewhere, or have a command compile itself at each start."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and name != "PYTHONDONTWRITEBYTECODE"
    }


@contextlib.contextmanager
def _pinned(cpus: Cpus | None) -> Iterator[None]:
    """This process on these cores; a child started meanwhile stays there."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _ends_within(pid: int, limit_s: float) -> bool:
    """Waits for the end of a child, which is then still to be reaped."""
    fd = os.pidfd_open(pid)
    try:
        return bool(select.select([fd], [], [], limit_s)[0])
    finally:
        os.close(fd)


def _stop(pid: int) -> None:
    """Ends a child that has not been reaped, and its process group: asked first, then killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
        if _ends_within(pid, _GRACE_S):
            return


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
