"""A measuring process as its parent sees it: started, asked, and ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import servers.launch.guard
from rig.tasks.errors import ChildError
from servers.groups import kill_group


class Child:
    """A Python module in a process of its own, that answers lines with lines. A context manager that kills it."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._name = " ".join(arguments)
        self._command = [sys.executable, "-m", module, *arguments]

    def __enter__(self) -> Child:
        self._errors = tempfile.TemporaryFile()
        # Tied to this process by the guard, whatever becomes of it; in a session of its own, so that the terminal's
        # Ctrl-C comes to the parent alone, which ends the child when it has taken care of the results.
        guard = [sys.executable, "-I", "-S", str(Path(servers.launch.guard.__file__)), str(os.getpid())]
        self._process = subprocess.Popen(
            [*guard, *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, *exc_info: object) -> None:
        kill_group(self._process.pid)
        self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()

    def ask(self, line: str) -> str:
        """The answer to a line.

        Raises:
            ChildError: it ended instead.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # what it died of stands in its errors
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        return self.answer()

    def answer(self) -> str:
        """Its next line.

        Raises:
            ChildError: it ended instead.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()
            why = said[-1] if said else f"the measuring process ended with {self._process.returncode}"
            raise ChildError(f"{self._name}: {why}")
        return line
