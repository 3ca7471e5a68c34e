"""A server that stands still for 1 s in 10: what its schedule implies, and what each client makes of it."""

from __future__ import annotations

import time
from typing import Final

from bench.accuracy import Told, told_by_both
from bench.clients.base import Client, Paced
from bench.clients.loadgen import Loadgen
from bench.errors import BenchError
from bench.figure import Figure, Section, Table, number, spread, times
from bench.rounds import interleave
from bench.settings import Settings
from servers.catalog import parse_spec
from servers.process import start

_PERIOD_S: Final = 10
_STANDS_S: Final = 1
_PERIODS: Final = 2
_MOST_ROUNDS: Final = 2
"""Each takes half a minute a client, and what is looked for is beyond any doubt in one."""
_QUICK: Final = (2, 0.4, 1)
_RATE: Final = 500
_CONNECTIONS: Final = 16
_ROOM: Final = 2 * _RATE
"""For a client that holds the rate: more than are due in a standstill."""
_BOUND: Final = 0.05


def measure_standstill(settings: Settings) -> Section:
    """All clients in the same rounds; a run covers whole periods of the server."""
    period_s, stands_s, periods = _QUICK if settings.quick else (_PERIOD_S, _STANDS_S, _PERIODS)
    implied_ms = 1000 * (stands_s - period_s / 100)
    clients: dict[str, Client] = {client.name: client for client in (Loadgen(), *settings.peers)}
    spec = f"calibrated:service_ms=1,stall={1000 * period_s:g}/{1000 * stands_s:g}"

    def one(name: str) -> Told:
        client = clients[name]
        with start(parse_spec(spec)) as server:
            time.sleep(period_s)  # it does not stand still in its first period
            connections = _ROOM if client.holds_a_rate else _CONNECTIONS
            load = Paced(f"{server.url}/sleep", _RATE, period_s * periods, connections)
            return told_by_both(client, server.url, load)

    rounds = min(settings.rounds, _MOST_ROUNDS)
    taken = interleave(
        rounds, clients, one, what="standstill", show=lambda told: f"p99 {number(told.reading.p99_ms, 1)} ms"
    )
    if "loadgen" not in taken:
        raise BenchError("the load on the server that stands still failed")
    ours = [told.reading.p99_ms for told in taken["loadgen"] if told.reading.p99_ms is not None]
    off = [told.off for told in taken["loadgen"] if told.off is not None]
    rows: list[tuple[str, ...]] = []
    for name, client in clients.items():
        runs = taken.get(name, [])
        if runs:
            readings = [told.reading for told in runs]
            way = f"{_RATE}/s" if client.holds_a_rate else f"{_CONNECTIONS} connections, each after its answer"
            row = (name, way, spread([reading.requests for reading in readings]))
            shown = (spread([getattr(r, key) for r in readings], 1) for key in ("p50_ms", "p99_ms"))
            rows.append((*row, *shown, spread([told.server_p99_ms for told in runs], 1)))
    header = ("client", "sends", "answered", "p50, ms", f"p99, ms ({implied_ms:,.0f} implied)", "p99, the server's, ms")
    return Section(
        "A server that stands still",
        f"`{spec}` for {periods} whole periods; {times(rounds, 'round')}. In each period of {period_s:g} s it"
        f" answers nothing for {stands_s:g} s. Of requests that are due evenly, one in a hundred then waits longer than"
        f" {implied_ms:,.0f} ms: that is the p99 that a user meets. A client that sends again only after the answer has"
        " at most as many requests in a standstill as it has connections, so that they vanish among those between"
        " (coordinated omission); the server's own record cannot know what was not sent.",
        figures=[
            Figure(
                "a server that stands still: p99 off what is implied",
                tuple(abs(p99_ms / implied_ms - 1) for p99_ms in ours), "<=", _BOUND, digits=3,
            ),
            Figure(
                "a server that stands still: p99 off the server's own record", tuple(off), "<=", _BOUND, digits=3,
            ),
        ],
        tables=[Table(header, rows)],
    )  # fmt: skip
