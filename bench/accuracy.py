"""What clients say of response times, beside what the calibrated server has written down itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final
from urllib.request import urlopen

from bench.clients import holding_a_rate
from bench.clients.base import Client, Paced, Reading, measure
from bench.errors import BenchError
from bench.figure import Figure, Section, Table, number, spread, times
from bench.rounds import interleave
from bench.settings import Settings
from servers.catalog import parse_spec
from servers.process import start

_SECONDS: Final = 5
_RATE: Final = 1_000
_SPECS: Final = ("calibrated:service_ms=20,jitter_ms=15", "calibrated:limit=22,service_ms=20,jitter_ms=15")
_BOUND: Final = 0.05
_CONNECTIONS: Final = 200
"""For clients that must be told: more than are in flight at any time."""


@dataclass(frozen=True, slots=True)
class Told:
    """One run: what the client says of it, and what the server does, in milliseconds."""

    reading: Reading
    server_p50_ms: float
    server_p99_ms: float

    @property
    def off(self) -> float | None:
        """By which part of the server's p99 the client's differs; None where it does not tell one."""
        told_ms = self.reading.p99_ms
        return None if told_ms is None else abs(told_ms / self.server_p99_ms - 1)


def told_by_both(client: Client, url: str, load: Paced) -> Told:
    """Carries the load out, between a reset of the server's record and its reading.

    Raises:
        ReadingError: the client failed.
    """
    _record(f"{url}/stats?reset=1")
    reading, _ = measure(client, load)
    record = _record(f"{url}/stats")
    return Told(reading, record["p50_ms"], record["p99_ms"])


def _record(url: str) -> dict[str, float]:
    with urlopen(url, timeout=10) as response:
        record: dict[str, float] = json.load(response)["response"]
    return record


def measure_accuracy(settings: Settings) -> Section:
    """Each server in its own rounds, with the peers that can hold a rate."""
    seconds = 1 if settings.quick else _SECONDS
    clients = holding_a_rate(settings.peers)
    section = Section(
        "Response times beside the server's own record",
        f"{_RATE:,} requests/s for {seconds} s; {times(settings.rounds, 'round')}. The server writes down how long each"
        " request took, from its receipt by the kernel to the written answer (`response` in its /stats). The client's"
        " figures are longer by the way there and back, and by its own lateness; anything else is an error of its"
        " own.",
    )
    for spec in _SPECS:

        def one(name: str, spec: str = spec) -> Told:
            with start(parse_spec(spec)) as server:
                load = Paced(f"{server.url}/sleep", _RATE, seconds, _CONNECTIONS)
                return told_by_both(clients[name], server.url, load)

        taken = interleave(
            settings.rounds, clients, one, what=spec, show=lambda told: f"p99 {number(told.off, 3)} off the server's"
        )
        if "loadgen" not in taken:
            raise BenchError(f"the load on {spec} failed")
        ours = tuple(told.off for told in taken["loadgen"] if told.off is not None)
        section.figures.append(Figure(f"`{spec}`: p99 off the server's own", ours, "<=", _BOUND, digits=3))
        section.tables.append(_table(spec, clients, taken))
    return section


def _table(spec: str, clients: dict[str, Client], taken: dict[str, list[Told]]) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in clients:
        runs = taken.get(name, [])
        row = (
            name,
            spread([told.reading.requests for told in runs]),
            spread([told.server_p50_ms for told in runs], 1),
            spread([told.reading.p50_ms for told in runs], 1),
            spread([told.server_p99_ms for told in runs], 1),
            spread([told.reading.p99_ms for told in runs], 1),
            spread([told.off for told in runs], 3),
        )
        rows.append(row)
    header = ("client", "answered", "p50, ms: the server", "the client", "p99, ms: the server", "the client", "off")
    return Table(header, rows, f"`{spec}`")
