"""Loads at a rate: how late requests begin, whether all do, and what each costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench.clients import holding_a_rate
from bench.clients.base import Client, Paced, Reading, measure
from bench.errors import BenchError
from bench.figure import Figure, Section, Table, number, spread, times
from bench.processes import Finished, ReferenceServer, split_cores
from bench.rounds import interleave
from bench.settings import Settings

_SECONDS: Final = 5
_LATE_MS: Final = {1_000: 0.15, 20_000: 0.2}
"""Bounds on the p99 of the lateness, by rate."""
_CONNECTIONS: Final = 64
"""For clients that must be told."""


@dataclass(frozen=True, slots=True)
class _Run:
    reading: Reading
    process: Finished

    @property
    def cpu_us(self) -> float:
        return self.process.cpu_s / self.reading.requests * 1e6

    @property
    def peak_mb(self) -> float:
        return self.process.peak_bytes / 1e6


def measure_pace(settings: Settings) -> Section:
    """Each rate in its own rounds, with the peers that can hold one."""
    seconds = 1 if settings.quick else _SECONDS
    clients = holding_a_rate(settings.peers)
    section = Section(
        "Loads at a rate",
        f"Requests at a constant rate for {seconds} s, to the server that answers at once, pinned to one core and the"
        f" client to another where there are two; one run of every client in turn, {times(settings.rounds, 'round')};"
        " the median, and in brackets the least and the greatest. `begun late` is the p99 of begun - due, as the client"
        " says it. p50 and p99 are response times as the client says them. CPU is the user and system time of the whole"
        f" process over the requests answered; memory its largest resident set. Peers that must be told have"
        f" {_CONNECTIONS} connections.",
    )
    for rate, bound_ms in _LATE_MS.items():
        taken = _measure(settings, clients, rate, seconds)
        section.tables.append(_table(clients, taken, rate))
        ours = [run.reading for run in taken["loadgen"]]
        late = tuple(reading.late_p99_ms for reading in ours if reading.late_p99_ms is not None)
        share = tuple(reading.requests / (rate * seconds) for reading in ours)
        late_name, share_name = f"{rate:,} requests/s: begun late, p99", f"{rate:,} requests/s: answered, of those due"
        section.figures.append(Figure(late_name, late, "<=", bound_ms, "ms", 3))
        section.figures.append(Figure(share_name, share, ">=", 1.0, digits=3))
    return section


def _measure(settings: Settings, clients: dict[str, Client], rate: int, seconds: int) -> dict[str, list[_Run]]:
    server_cpus, client_cpus = split_cores() or (None, None)

    def one(name: str) -> _Run:
        with ReferenceServer(settings.server, cpus=server_cpus) as server:
            load = Paced(server.url("/"), rate, seconds, _CONNECTIONS)
            return _Run(*measure(clients[name], load, cpus=client_cpus))

    def show(run: _Run) -> str:
        return f"late p99 {number(run.reading.late_p99_ms, 3)} ms, p99 {number(run.reading.p99_ms, 3)} ms"

    taken = interleave(settings.rounds, clients, one, what=f"{rate:,}/s", show=show)
    if "loadgen" not in taken:
        raise BenchError(f"the load of {rate:,}/s by loadgen failed")
    return taken


def _table(clients: dict[str, Client], taken: dict[str, list[_Run]], rate: int) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in clients:
        runs = taken.get(name, [])
        readings = [run.reading for run in runs]
        row = (
            name,
            spread([reading.requests for reading in readings]),
            spread([reading.late_p99_ms for reading in readings], 3),
            spread([reading.p50_ms for reading in readings], 3),
            spread([reading.p99_ms for reading in readings], 3),
            spread([run.cpu_us for run in runs], 1),
            spread([run.peak_mb for run in runs]),
        )
        rows.append(row)
    header = ("client", "answered", "begun late, p99, ms", "p50, ms", "p99, ms", "CPU, us a request", "memory, MB")
    return Table(header, rows, f"{rate:,} requests/s")
