"""What a scenario is, as frozen values: steps of some kind, on entries with what was published and is predicted.

A new kind of step is a class here, a reader in `load`, and the means to carry it out in `rig.scenario`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Published:
    """What a document printed, run by run; empty where it did not."""

    wall_ms: tuple[float, ...] = ()
    over: tuple[float, ...] = ()
    """Late requests."""
    p50_ms: tuple[float, ...] = ()
    rps: tuple[float, ...] = ()
    create_us: tuple[float, ...] = ()
    """Time to make one, a figure for each of the step's counts, or for the first of them."""
    address_mb: tuple[float, ...] = ()
    """Address space of each."""
    note: str = ""
    """What it said in words, or the conditions that were other than here."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a file states of an entry in place of what theory would take from the profile alone."""

    limit: int | None = None
    """Requests worked on at once."""
    waves: int | None = None
    wall_ms: float | None = None
    over: int | None = None
    """Late requests; not held against anything where it is None."""
    causes: tuple[str, ...] = ()
    """The causes that may be found."""
    answer: str | None = None
    """A text that the answer holds."""
    meaning: str = ""
    """What such an answer means, in words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One side of a step."""

    spec: str
    """A profile's spec; of an executor, its name with its size."""
    predicted: Predicted = Predicted()
    published: Published = Published()


@dataclass(frozen=True, slots=True)
class Load:
    """Requests at each entry's server, in turns."""

    entries: tuple[Entry, ...]
    path: str
    n: int
    concurrency: int
    """Equal to `n`: a burst."""
    runs: int = 5
    warmup: int = 0
    over_ms: int = 1500
    timeout_s: float = 60.0
    keepalive: bool = True
    service_ms: float | None = None
    """What theory takes as the time at work on one request; None where it has none to take."""
    limit: int | None = None
    """Of every entry that does not state its own."""
    shows_resent: bool = False
    """Whether each late request's connect time and resends are shown."""
    server_timing: bool = False
    """Whether the server's own figures are kept and shown."""

    @property
    def title(self) -> str:
        """`/sleep, 400 at once`, or `/json, 5000 by 50 at a time`."""
        if self.n == self.concurrency:
            return f"{self.path}, {self.n} at once"
        return f"{self.path}, {self.n} by {self.concurrency} at a time"


@dataclass(frozen=True, slots=True)
class Ask:
    """A few requests whose answers are shown."""

    entries: tuple[Entry, ...]
    path: str
    at_once: int = 1

    @property
    def title(self) -> str:
        """`/thread, asked 3 times at once`."""
        return f"{self.path}, asked {'once' if self.at_once == 1 else f'{self.at_once} times at once'}"


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks on executors of this machine, without HTTP."""

    entries: tuple[Entry, ...]
    work: str
    """As `rig tasks --work` takes it: `sleep:100ms`."""
    tasks: int
    warmup: int = 3
    runs: int = 7
    service_ms: float | None = None

    @property
    def title(self) -> str:
        """`1000 tasks of sleep:100ms`."""
        return f"{self.tasks} tasks of {self.work}"


@dataclass(frozen=True, slots=True)
class ThreadCost:
    """What making so many of each kind costs in time and memory."""

    entries: tuple[Entry, ...]
    """Their specs are kinds: threads, asyncio, greenlets."""
    counts: tuple[int, ...]
    rounds: int = 3

    @property
    def title(self) -> str:
        """`10, 100 and 1000 of each`."""
        return f"{', '.join(map(str, self.counts))} of each"


Step: TypeAlias = Load | Ask | Tasks | ThreadCost


@dataclass(frozen=True, slots=True)
class Scenario:
    """An experiment."""

    name: str
    title: str
    question: str
    source: str
    """The document's mark: D1."""
    steps: tuple[Step, ...]
    caution: str = ""
    """What the outcome must not be taken for; repeated with it."""
