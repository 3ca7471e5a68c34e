"""Bursts against a server whose right answer is 1,000 ms, whatever N."""

from __future__ import annotations

import resource
from statistics import median
from typing import Final

from bench.clients.base import Burst, Client, Reading, measure
from bench.clients.floor import Floor
from bench.clients.loadgen import Loadgen, other_engines
from bench.errors import BenchError
from bench.figure import Figure, Section, Table, middle, number, spread, times
from bench.processes import ReferenceServer
from bench.rounds import interleave, say
from bench.settings import Settings
from loadgen import kernel

RIGHT_MS: Final = 1000
_SIZES: Final = (400, 2_000, 10_000)
_QUICK_SIZES: Final = (200,)
_P50_BOUNDS: Final = {400: 1003.0, 10_000: 1010.0}
_WALL_MS: Final = 1450
_FLOOR_WALL_MS: Final = 1343
"""What the floor client needed where `_WALL_MS` was set as the bound."""
_RESERVE: Final = 100
"""Descriptors that a client needs for itself."""

Readings = dict[str, list[Reading]]


def measure_bursts(settings: Settings) -> Section:
    """Every size in its own rounds."""
    section = Section(
        f"Burst: the right answer is {RIGHT_MS:,} ms",
        "N requests at once, each on a fresh connection, to a server (C, one thread) that answers each"
        f" {RIGHT_MS:,} ms after it has read it."
        " One round is one burst of every client in turn, each to a server newly started;"
        f" {times(settings.rounds, 'round')}; the median, in brackets the least and the greatest. Nothing is pinned."
        " p50 is what the client says of the requests' times, wall what it says of the time from its start to its last"
        " answer; n/a: it does not say."
        " The floor client (C) connects, sends and reads and does nothing else;"
        f" the bound on wall is {_WALL_MS:,} ms where it needs {_FLOOR_WALL_MS:,}.",
    )
    fits = largest_burst()
    sizes = {min(size, fits): size for size in (_QUICK_SIZES if settings.quick else _SIZES)}
    for n, asked in sizes.items():
        if n < asked:
            section.notes.append(f"{asked:,} requests at once do not fit the limits of this machine; {n:,} do.")
            say(f"burst: {section.notes[-1]}")
        clients = _clients(settings, n)
        taken = _measure(settings, clients, n)
        section.tables.append(_table(clients, taken, n))
        section.figures.extend(_figures(taken, clients, n, asked))
    section.notes.extend(f"{client.name}: {client.caveat}." for client in settings.peers if client.caveat)
    return section


def largest_burst() -> int:
    """How many requests at once the limits on descriptors and ports allow; sets the soft limit to the hard one."""
    limit = kernel.raise_descriptor_limit() or resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (min(limit, kernel.local_ports() or limit) - _RESERVE) // 100 * 100


def _clients(settings: Settings, n: int) -> dict[str, Client]:
    clients = [Floor(str(settings.floor)), Loadgen(), *settings.peers, *other_engines()]
    return {client.name: client for client in clients if client.largest_burst is None or n <= client.largest_burst}


def _measure(settings: Settings, clients: dict[str, Client], n: int) -> Readings:
    def one(name: str) -> Reading:
        with ReferenceServer(settings.server) as server:
            return measure(clients[name], Burst(server.url(f"/sleep/{RIGHT_MS}"), n))[0]

    def show(reading: Reading) -> str:
        return f"p50 {number(reading.p50_ms, 1)} ms, wall {number(reading.wall_ms, 1)} ms"

    taken = interleave(settings.rounds, clients, one, what=f"burst of {n:,}", show=show)
    for needed in ("loadgen", "floor (C)"):
        if needed not in taken:
            raise BenchError(f"the burst of {n:,} by {needed} failed")
    return taken


def _table(clients: dict[str, Client], taken: Readings, n: int) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in clients:
        readings = taken.get(name, [])
        p50s = [reading.p50_ms for reading in readings]
        off = middle(p50s)
        rows.append(
            (
                name,
                spread(p50s, 1),
                "n/a" if off is None else f"{off - RIGHT_MS:+,.1f}",
                spread([reading.wall_ms for reading in readings]),
            )
        )
    return Table(("client", "p50, ms", f"p50 - {RIGHT_MS:,}", "wall, ms"), rows, f"N = {n:,}")


def _figures(taken: Readings, clients: dict[str, Client], n: int, asked: int) -> list[Figure]:
    if asked not in _P50_BOUNDS:
        return []
    p50s = tuple(reading.p50_ms for reading in taken["loadgen"] if reading.p50_ms is not None)
    figures = [Figure(f"burst of {n:,}: p50", p50s, "<=", _P50_BOUNDS[asked], "ms", 1)]
    if asked == max(_SIZES):
        figures += [_wall_figure(taken, n), _nearer_figure(taken, clients, n, median(p50s))]
    return figures


def _wall_figure(taken: Readings, n: int) -> Figure:
    ratios = tuple(
        ours.wall_ms / floor.wall_ms
        for ours, floor in zip(taken["loadgen"], taken["floor (C)"], strict=True)
        if ours.wall_ms and floor.wall_ms
    )
    return Figure(
        f"burst of {n:,}: wall, of the floor client's in the same round", ratios, "<=", _WALL_MS / _FLOOR_WALL_MS, "", 3
    )


def _nearer_figure(taken: Readings, clients: dict[str, Client], n: int, ours_ms: float) -> Figure:
    distances = {
        name: abs(p50 - RIGHT_MS)
        for name in clients
        if name not in ("loadgen", "floor (C)") and (p50 := middle([r.p50_ms for r in taken.get(name, [])])) is not None
    }
    nearer = [name for name, distance in distances.items() if distance <= abs(ours_ms - RIGHT_MS)]
    name = f"burst of {n:,}: peers whose p50 is as near to {RIGHT_MS:,} ms, of {len(distances)}"
    if nearer:
        name += f" ({', '.join(nearer)})"
    return Figure(name, (float(len(nearer)),) if distances else (), "<=", 0, "", 0)
