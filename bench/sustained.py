"""A sustained load on kept-alive connections: how many requests a second, and what each costs the client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench.clients.base import Client, Reading, Sustained, measure
from bench.clients.loadgen import Loadgen
from bench.errors import BenchError
from bench.figure import Figure, Section, Table, middle, number, spread, times
from bench.processes import Finished, ReferenceServer, split_cores
from bench.rounds import interleave
from bench.settings import Settings

CONNECTIONS: Final = 64
_LOAD: Final = (400_000, 3)
"""Requests for loadgen, seconds for the others: about as long here as there."""
_QUICK_LOAD: Final = (20_000, 1)
_STANDARD: Final = "wrk"
_RPS_BOUND: Final = 0.90
_CPU_BOUND: Final = 1.15


@dataclass(frozen=True, slots=True)
class Load:
    """One run of one client."""

    reading: Reading
    process: Finished

    @property
    def rps(self) -> float | None:
        """As the client says it."""
        return self.reading.rps

    @property
    def cpu_us(self) -> float:
        """CPU of the whole process, from its start to its end, for each request answered."""
        return self.process.cpu_s / self.reading.requests * 1e6

    @property
    def whole_rps(self) -> float:
        """Requests over the whole life of the process."""
        return self.reading.requests / self.process.wall_s

    @property
    def run_cpu_us(self) -> float | None:
        """As the client says it, without its start and end."""
        return None if self.reading.cpu_s is None else self.reading.cpu_s / self.reading.requests * 1e6


def measure_sustained(settings: Settings) -> Section:
    """All clients in the same rounds."""
    requests, seconds = _QUICK_LOAD if settings.quick else _LOAD
    clients: dict[str, Client] = {client.name: client for client in (Loadgen(), *settings.peers)}
    cores = split_cores()

    def one(name: str) -> Load:
        server_cpus, client_cpus = cores or (None, None)
        with ReferenceServer(settings.server, cpus=server_cpus) as server:
            load = Sustained(server.url("/"), CONNECTIONS, seconds, requests)
            return Load(*measure(clients[name], load, cpus=client_cpus))

    def show(load: Load) -> str:
        return f"{number(load.rps)} requests/s, {number(load.cpu_us, 2)} us CPU a request"

    taken = interleave(settings.rounds, clients, one, what="sustained", show=show)
    if "loadgen" not in taken:
        raise BenchError("the sustained load by loadgen failed")
    return Section(
        f"Sustained load: {CONNECTIONS} kept-alive connections",
        f"The same server, answering at once. loadgen sends {requests:,} requests, the others go on for {seconds} s;"
        f" one run of every client in turn, {times(settings.rounds, 'round')};"
        f" the median, and in brackets the least and the greatest. {_pinning(cores is not None)}"
        " requests/s is what the client says of its run; CPU is the user and system time of the whole process, start"
        " and end included, over the requests answered."
        " `of wrk` is the median of the ratios to wrk within the same round."
        " loadgen stands twice: its run alone, by its own summary, and its whole command, by the clock from the start"
        " of the process to its end. It records each request in full.",
        figures=_figures(taken),
        tables=[Table(("client", "requests/s", "of wrk", "CPU, us a request", "of wrk"), _rows(clients, taken))],
    )


def _pinning(pinned: bool) -> str:
    return (
        "The server is pinned to one core and the client to another."
        if pinned
        else "There is one core only, which client and server share."
    )


def _rows(clients: dict[str, Client], taken: dict[str, list[Load]]) -> list[tuple[str, ...]]:
    standard = taken.get(_STANDARD, [])
    standard_rps, standard_us = [load.rps for load in standard], [load.cpu_us for load in standard]

    def row(label: str, rps: list[float | None], cpu_us: list[float | None]) -> tuple[str, ...]:
        of_rps, of_us = middle(_ratios(rps, standard_rps)), middle(_ratios(cpu_us, standard_us))
        return (label, spread(rps), number(of_rps, 2), spread(cpu_us, 2), number(of_us, 2))

    ours = taken["loadgen"]
    rows = [
        row("loadgen, the run", [load.rps for load in ours], [load.run_cpu_us for load in ours]),
        row("loadgen, the whole command", [load.whole_rps for load in ours], [load.cpu_us for load in ours]),
    ]
    for name in clients:
        if name != "loadgen":
            loads = taken.get(name, [])
            rows.append(row(name, [load.rps for load in loads], [load.cpu_us for load in loads]))
    return rows


def _figures(taken: dict[str, list[Load]]) -> list[Figure]:
    ours, standard = taken["loadgen"], taken.get(_STANDARD, [])
    rps = _ratios([load.rps for load in ours], [load.rps for load in standard])
    cpu = _ratios([load.cpu_us for load in ours], [load.cpu_us for load in standard])
    return [
        Figure("sustained: requests/s of the run, of wrk's", rps, ">=", _RPS_BOUND),
        Figure("sustained: CPU a request of the whole command, of wrk's", cpu, "<=", _CPU_BOUND),
    ]


def _ratios(ours: list[float | None], standard: list[float | None] | list[float]) -> tuple[float, ...]:
    """Round by round; none where either side has not all rounds."""
    if len(ours) != len(standard):
        return ()
    return tuple(a / b for a, b in zip(ours, standard, strict=True) if a is not None and b is not None)
