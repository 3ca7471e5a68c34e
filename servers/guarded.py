"""Programs whose life is tied to this process's: each in a process group of its own, begun by `launch.guard`."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from servers.groups import kill_group
from servers.launch import guard


def spawn_guarded(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Starts a program that gets SIGTERM when this process ends; `options` are those of Popen.

    The program's pid is its process group and session too: see `groups` for how to end all of it.
    """
    guarded = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *command]
    return _from_lasting_thread(lambda: subprocess.Popen(guarded, start_new_session=True, **options))


def run_guarded(command: Sequence[str], timeout_s: float | None = None, **options: Any) -> tuple[int, str]:
    """Runs such a program to its end, and ends what it leaves; returns its exit status and what it wrote.

    Into a file: a pipe has no end as long as something that was left behind holds it.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    with tempfile.TemporaryFile() as log:
        process = spawn_guarded(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **options)
        try:
            process.wait(timeout_s)
        finally:
            kill_group(process.pid)
            process.wait()
        log.seek(0)
        return process.returncode, log.read().decode(errors="replace")


_Job = tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]


@functools.cache
def _lasting_thread() -> SimpleQueue[_Job]:
    """The queue of a thread that lives as long as this process.

    A daemon, not an executor: a Ctrl-C in the midst of an executor's own bookkeeping leaves a thread that the
    interpreter waits for at its end, for ever.
    """
    jobs: SimpleQueue[_Job] = SimpleQueue()

    def work() -> None:
        while True:
            popen, result = jobs.get()
            try:
                result.set_result(popen())
            except BaseException as error:
                result.set_exception(error)

    threading.Thread(target=work, name="loadrig-spawn", daemon=True).start()
    return jobs


def _from_lasting_thread(popen: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Run `popen` on the lasting thread.

    To the kernel a child's parent is the thread that made it: made on a thread of the caller's that ends, the server
    would be taken for an orphan and terminated (see `guard.die_with`).
    """
    result: Future[subprocess.Popen[bytes]] = Future()
    _lasting_thread().put((popen, result))
    return result.result()
