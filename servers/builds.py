"""Programs that are built before they run: once, from their sources, into the user's cache.

The sources may be in an installed package, which is read only, so nothing is built beside them. The cache's folder is
named by a hash of the sources: other sources are another build. It appears there by one rename, so it is whole or not
there at all, whoever else builds the same or is interrupted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from servers.errors import ProgramError
from servers.guarded import run_guarded
from servers.runtimes import Runtime

_TAIL_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Build:
    """How a program is built.

    Attributes:
        folder: where its sources are.
        sources: the files and folders there that it is made of, by their paths from `folder`.
        tools: what must be on the machine for it.
        command: gives what is run in a copy of the sources.
        output: the folder, by its path from that copy, that then holds the program.
        takes: how long it takes, in words.
        environment: gives variables that are set for the command.
    """

    name: str
    folder: Path
    sources: tuple[str, ...]
    tools: tuple[Runtime, ...]
    command: Callable[[], list[str]]
    output: str
    takes: str
    environment: Callable[[], Mapping[str, str]] = dict

    @property
    def directory(self) -> Path:
        """Where the built program is, or will be."""
        return cache() / f"{self.name}-{self._digest()}"

    @property
    def tools_needed(self) -> tuple[Runtime, ...]:
        """The tools, as long as it is not built."""
        return () if self.directory.is_dir() else self.tools

    def require_tools(self) -> None:
        """Sees that it is built, or can be.

        Raises:
            RuntimeMissing: it is not built, and a tool is not here.
        """
        for tool in self.tools_needed:
            tool.find()

    def make(self, tell: Callable[[str], None] = lambda _: None) -> Path:
        """The folder of the program, which is built if it is not there; `tell` is given a line before that.

        Raises:
            RuntimeMissing: a tool is not here.
            ProgramError: the tool failed, and the end of its output is with the error; or the cache cannot be written.
        """
        directory = self.directory
        if not directory.is_dir():
            self.require_tools()
            tell(f"building {self.name}, once: takes {self.takes}")
            try:
                self._make(directory)
            except OSError as error:
                why = f"{error.filename}: {error.strerror}"
                raise ProgramError(f"{self.name} could not be built: {why}", log_tail="") from error
        return directory

    def _make(self, directory: Path) -> None:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{directory.name}-", dir=directory.parent) as name:
            copy = Path(name)
            for file in self._files():
                place = copy / file.relative_to(self.folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)
            self._run(copy)
            try:
                (copy / self.output).rename(directory)
            except OSError:
                if not directory.is_dir():  # else somebody else has built the same meanwhile
                    raise

    def _run(self, copy: Path) -> None:
        status, said = run_guarded(self.command(), cwd=copy, env={**os.environ, **self.environment()})
        if status:
            raise ProgramError(f"{self.name} could not be built (exit status {status})", log_tail=last_lines(said))

    def _files(self) -> Iterator[Path]:
        for source in self.sources:
            path = self.folder / source
            yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for file in self._files():
            content = file.read_bytes()
            digest.update(f"{file.relative_to(self.folder)} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:16]


def cache() -> Path:
    """Where built programs are kept: in the user's cache, by the XDG Base Directory Specification."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / ".cache") / "loadrig"


def last_lines(text: str) -> str:
    """The last lines of a program's output, for an error."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-_TAIL_LINES:])
