"""What the bench needs of a client: a command for each kind of load, and a reader of what it prints."""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.errors import ReadingError
from bench.processes import Cpus, Finished, run


@dataclass(frozen=True, slots=True)
class Reading:
    """What a client says of one run of its own; None where it does not tell."""

    requests: int
    """Answered with success."""
    p50_ms: float | None = None
    p99_ms: float | None = None
    late_p99_ms: float | None = None
    """By how much its requests began after they were due."""
    wall_ms: float | None = None
    rps: float | None = None
    cpu_s: float | None = None
    """During the run, without start and end."""


@dataclass(frozen=True, slots=True)
class Burst:
    """N requests at once, each on a fresh connection."""

    url: str
    n: int


@dataclass(frozen=True, slots=True)
class Sustained:
    """Connections kept alive, each sending again after its answer."""

    url: str
    connections: int
    seconds: int
    requests: int
    """For a client that counts instead of timing."""


@dataclass(frozen=True, slots=True)
class Paced:
    """Requests at a rate for a time."""

    url: str
    rate: int
    seconds: int
    connections: int
    """For a client that must be told how many it may have, or that cannot hold a rate: then so many send again and
    again."""


Load = Burst | Sustained | Paced


class Client(ABC):
    """A client, installed as `program`. Readers raise ReadingError where the output lacks what it should have."""

    name: str
    caveat: ClassVar[str] = ""
    """What its burst figures leave out, or what it cannot do; a clause."""
    largest_burst: int | None = None
    """Above it, it is not asked; None: it takes any."""
    holds_a_rate: ClassVar[bool] = False
    """Whether it can send at a rate, whatever the answers do."""
    version_arguments: ClassVar[tuple[str, ...] | None] = ("--version",)
    """None: it does not tell its version."""

    def __init__(self, program: str) -> None:
        self.program = program

    @abstractmethod
    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """The command; `scratch` is an empty folder."""

    @abstractmethod
    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """The command; one thread where that can be chosen."""

    def paced(self, load: Paced, scratch: Path) -> list[str] | None:
        """The command; None where it cannot be asked for the p99 of such a run."""
        return None

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """Reads what the paced load printed and left in `scratch`, the p99 above all."""
        raise NotImplementedError

    def digest(self, scratch: Path) -> list[str] | None:
        """A command run after the measurement, to be read in place of the first; None: none is needed."""
        return None

    @abstractmethod
    def read_burst(self, text: str, scratch: Path) -> Reading:
        """Reads what the burst printed and left in `scratch`."""

    @abstractmethod
    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """Reads what the sustained load printed and left in `scratch`."""

    def version(self) -> str:
        """The version it tells, such as `4.1.0`, or `unknown`."""
        if self.version_arguments is None:
            return "unknown"
        told = run([self.program, *self.version_arguments], limit_s=20)
        found = re.search(r"(?<![\w.])v?(\d+\.\d+[\w.\-]*)", told.stdout + told.stderr)
        return found[1] if found else "unknown"


def measure(client: Client, load: Load, *, cpus: Cpus | None = None) -> tuple[Reading, Finished]:
    """Carries out one run: what the client says of it, and what the process took.

    Raises:
        ReadingError: it failed.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        scratch = Path(folder)
        command, reader = _way(client, load, scratch)
        if command is None:
            raise ReadingError("it has no such mode")
        finished = run(command, cpus=cpus)
        told = finished
        digest = client.digest(scratch)
        if digest is not None and not finished.complaint:
            told = run(digest)
        if told.complaint:
            raise ReadingError(told.complaint)
        return reader(told.stdout, scratch), finished


def _way(client: Client, load: Load, scratch: Path) -> tuple[list[str] | None, Callable[[str, Path], Reading]]:
    """The command for a load, and the reader of what it prints."""
    match load:
        case Burst():
            return client.burst(load, scratch), client.read_burst
        case Sustained():
            return client.sustained(load, scratch), client.read_sustained
        case Paced():
            return client.paced(load, scratch), client.read_paced


def search(pattern: str, text: str) -> str:
    """The first group of the pattern's first match in a text of many lines.

    Raises:
        ReadingError: there is no match.
    """
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise ReadingError(f"no {pattern!r} in what it printed")
    return found[1]


def middle(values: list[float]) -> float:
    """The value at index floor(n / 2) of the n sorted values: loadgen's own definition of the p50.

    Raises:
        ReadingError: there are none.
    """
    if not values:
        raise ReadingError("no request succeeded")
    return sorted(values)[len(values) // 2]
