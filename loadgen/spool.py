"""Rows to a file while a run lasts, by a process of its own: writing them here would cost the engine its pace.

The process (`loadgen.spooler`) inherits the open file as its stdout and reads rows from a pipe. It ends when the pipe
does, whatever became of this process, and a Ctrl-C does not reach it: what it was given, it writes.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any, Final, Literal

from loadgen.samples import COLUMNS, Samples

Form = Literal["csv", "run-folder", "parquet"]

FRAME: Final = struct.Struct("<qqq")
"""Before each lot of rows: the run's number, how many rows, and how many bytes of names of the server's own figures.
Then follow these names, parted by blanks, the columns in the order of COLUMNS, and one for each of the names."""


class Spool:
    """Writes rows to a file. Trouble with that ends nothing: it is kept until `close`."""

    def __init__(self, file: IO[Any], form: Form, extra: Sequence[str] = (), profile: str = "") -> None:
        """Over an open file, whose rest is left to the spool until it is closed; with these `extra_columns`.

        A run folder's rows begin with their profile.
        """
        file.flush()
        self._name = file.name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loadgen.spooler", form, profile, *extra],
            stdin=subprocess.PIPE,
            stdout=file.fileno(),
            stderr=subprocess.PIPE,
            start_new_session=True,  # out of the terminal's reach
        )
        self._broken = False

    def write(self, run: int, samples: Samples) -> None:
        """Hands rows over; waits where the writer is behind."""
        assert self._process.stdin is not None
        if self._broken:
            return
        try:
            names = " ".join(samples.server_timing).encode()
            self._process.stdin.write(FRAME.pack(run, len(samples), len(names)) + names)
            for column in (*(getattr(samples, name) for name in COLUMNS), *samples.server_timing.values()):
                self._process.stdin.write(column.tobytes())
        except BrokenPipeError:
            self._broken = True

    def close(self) -> None:
        """Waits until all is written.

        Raises:
            OSError: it could not be.
        """
        _, said = self._process.communicate()
        if self._process.returncode:
            reason = said.decode(errors="replace").strip().splitlines()
            raise OSError(0, reason[-1] if reason else "its writer was killed", self._name)
