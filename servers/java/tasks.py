"""Tasks on Java's executors, without HTTP: builds and runs Tasks.java."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from servers.builds import Build, last_lines
from servers.errors import ProgramError, UsageError
from servers.groups import kill_group
from servers.guarded import spawn_guarded
from servers.runtimes import JAVA, JAVAC

_MISUSE: Final = 2

TASKS_BUILD: Final = Build(
    name="java-tasks",
    folder=Path(__file__).parent,
    sources=("Tasks.java",),
    tools=(JAVAC,),
    command=lambda: [str(JAVAC.find().program), "--release", "17", "-d", "classes", "Tasks.java"],
    output="classes",
    takes="some seconds",
)


@dataclass(frozen=True, slots=True)
class JavaRun:
    """One run: making the executor, submitting all tasks, waiting for them and closing it. Nanoseconds.

    Attributes:
        wall_ns: the whole run.
        checksum: the sum of the tasks' results. Task i gives i or, of `cpu`, the unsigned 32-bit state reached from
            i + 1.
        begun_ns: when each task began, from the run's begin; in the order of submission.
        done_ns: when each was done.
    """

    wall_ns: int
    checksum: int
    begun_ns: list[int]
    done_ns: list[int]


def require_java() -> None:
    """Sees that there is a Java, and that the program is built or can be.

    Raises:
        RuntimeMissing: it is not so.
    """
    JAVA.find()
    TASKS_BUILD.require_tools()


def run_java_tasks(work: str, tasks: int, executor: str, warmup: int, runs: int) -> Iterator[JavaRun]:
    """Each measured run as it ends; the Java program is stopped when the iterator is closed or fails.

    Args:
        work: 'sleep:MS', 'spin:MS' or 'cpu:STEPS'.
        tasks: how many in each run.
        executor: 'pool:THREADS', 'virtual' (a virtual thread each) or 'thread-each'.
        warmup: runs before, in the same process, that are not given.
        runs: runs that are.

    Raises:
        RuntimeMissing: no Java, or no javac to build the program with.
        UsageError: Java's side does not know the work or the executor; the message says what it accepts.
        ProgramError: the program could not be built, or ended with an error.
    """
    java = str(JAVA.find().program)
    classes = str(TASKS_BUILD.make())
    command = [java, "-cp", classes, "Tasks", work, str(tasks), executor, str(warmup), str(runs)]
    with tempfile.TemporaryFile() as log:
        process = spawn_guarded(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    yield _read(line)
            if process.wait():
                raise _error(process.returncode, log)
        finally:
            if process.poll() is None:
                kill_group(process.pid)
                process.wait()


def _read(line: bytes) -> JavaRun:
    run = json.loads(line)
    return JavaRun(run["wall_ns"], run["sum"], run["begun_ns"], run["done_ns"])


def _error(returncode: int, log: IO[bytes]) -> UsageError | ProgramError:
    log.seek(0)
    said = log.read().decode(errors="replace")
    if returncode == _MISUSE:
        return UsageError(said.strip())
    return ProgramError(f"Tasks.java ended with exit status {returncode}", log_tail=last_lines(said))
