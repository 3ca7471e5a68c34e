"""What was seen of the server and of the generator during a run. Plain values; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from loadgen.explain.evidence import ServerView
    from loadgen.run import Run

SERVER: Final = "server"
CLIENT: Final = "client"


class Collection(NamedTuple):
    """A garbage collection: ns from the run's release (in the sampler: of the monotonic clock)."""

    begin_ns: int
    end_ns: int


class Look(NamedTuple):
    """One look at one side. None: not to be seen, or not looked at this time."""

    at_ns: int
    """From the run's release (in the sampler: of the monotonic clock)."""
    side: str
    """SERVER or CLIENT."""
    cpu_percent: float | None
    """Of one core, since the look before."""
    rss_bytes: int | None
    """Resident memory, added up over processes; what they share counts in each."""
    threads: int | None
    descriptors: int | None
    context_switches: int | None
    """How often its threads were given a CPU since the run began; of one that has ended, until it was last seen."""
    queue: int | None
    """Connections in the accept queue of its port."""
    in_flight: int | None
    """Requests that the server works on, by its own count."""
    waiting: int | None
    """Requests that wait in it, by its own count."""
    gc_pause_ms: float | None
    """For how long it collected garbage since the look before."""


HEADER: Final = ("profile", "run", *Look._fields)
"""The first line of resources.csv."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """The most of each that one side was seen to take in a run; None: not to be seen."""

    cpu_percent: float | None
    rss_bytes: int | None
    threads: int | None
    descriptors: int | None
    context_switches: int | None
    queue: int | None
    in_flight: int | None
    waiting: int | None
    gc_pause_ms: float | None
    """Of the whole run."""

    def data(self) -> dict[str, Any]:
        """As plain data, by its names; CPU and pauses to a thousandth."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Resources:
    """What was seen during one run.

    Attributes:
        looks: in order of time, one of the server and one of the generator at each moment.
        queue_limit: length of the accept queue asked for; None where it is not to be seen.
        collections: the server's long garbage collections; None where it does not tell them.
    """

    looks: tuple[Look, ...]
    queue_limit: int | None
    collections: tuple[Collection, ...] | None

    def peaks(self, side: str) -> Peaks | None:
        """The most of each; None where nothing of that side was seen."""
        looks = [look for look in self.looks if look.side == side]
        if all(look.threads is None for look in looks):
            return None

        def known(name: str) -> list[Any]:
            return [value for look in looks if (value := getattr(look, name)) is not None]

        pauses = known("gc_pause_ms")
        most = {name: max(known(name), default=None) for name in Peaks.__slots__ if name != "gc_pause_ms"}
        return Peaks(**most, gc_pause_ms=sum(pauses) if pauses else None)

    @property
    def server(self) -> Peaks | None:
        """The server's, all its processes together."""
        return self.peaks(SERVER)

    @property
    def client(self) -> Peaks | None:
        """The generator's, its workers on this machine included."""
        return self.peaks(CLIENT)

    def beside(self, view: ServerView) -> ServerView:
        """What was seen of the server otherwise, and what of this tells the reasons."""
        peaks = self.server
        return replace(
            view, collections=self.collections, peak_cpu_percent=None if peaks is None else peaks.cpu_percent
        )

    def data(self) -> dict[str, Any]:
        """The peaks of both sides as plain data."""
        sides = ((SERVER, self.server), (CLIENT, self.client))
        data: dict[str, Any] = {side: None if peaks is None else peaks.data() for side, peaks in sides}
        if data[SERVER] is not None:
            data[SERVER]["queue_limit"] = self.queue_limit
        return data

    def line(self) -> str | None:
        """The server's peaks as the text form has them; None where nothing of it was seen."""
        peaks = self.server
        if peaks is None:
            return None
        shown = []
        if peaks.cpu_percent is not None:
            shown.append(f"cpu={peaks.cpu_percent:.0f} %")
        if peaks.rss_bytes is not None:
            shown.append(f"memory={peaks.rss_bytes / 1e6:.0f} MB")
        shown.append(f"threads={peaks.threads}")
        if peaks.queue is not None:
            shown.append(f"queue={peaks.queue} of {self.queue_limit}")
        if peaks.gc_pause_ms is not None and peaks.gc_pause_ms >= 1:
            shown.append(f"garbage collection={peaks.gc_pause_ms:.0f} ms in all")
        return f"server: peak {' '.join(shown)}"


def rows(profile: str, run: Run) -> Iterator[tuple[Any, ...]]:
    """The rows of resources.csv for a run, in the order of HEADER; none where nothing was watched."""
    if run.resources is not None:
        for look in run.resources.looks:
            yield (profile, run.number, *look)
