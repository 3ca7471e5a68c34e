"""The clients that are measured: one file each, behind `base.Client`. This one chooses those that are here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import Final

from bench.clients.ab import Ab
from bench.clients.autocannon import Autocannon
from bench.clients.base import Client
from bench.clients.bombardier import Bombardier
from bench.clients.fortio import Fortio
from bench.clients.h2load import H2load
from bench.clients.hey import Hey
from bench.clients.k6 import K6
from bench.clients.loadgen import Loadgen
from bench.clients.oha import Oha
from bench.clients.vegeta import Vegeta
from bench.clients.wrk import Wrk, Wrk2

PEERS: Final[tuple[type[Client], ...]] = (
    Wrk, Wrk2, Ab, H2load, Hey, Bombardier, Autocannon, Oha, Vegeta, Fortio, K6,
)  # fmt: skip

PATH_VARIABLE: Final = "BENCH_PATH"
"""The environment variable that names folders to search for peers before PATH, such as a node_modules/.bin."""


def find_peers(names: list[str] | None = None) -> list[Client]:
    """The peers that are installed; only those named, where names are given."""
    path = os.pathsep.join(filter(None, (os.environ.get(PATH_VARIABLE), os.environ.get("PATH", os.defpath))))
    found: list[Client] = []
    for peer in PEERS:
        program = shutil.which(peer.name, path=path) if names is None or peer.name in names else None
        if program is not None:
            found.append(peer(program))
    return found


def holding_a_rate(peers: Iterable[Client]) -> dict[str, Client]:
    """loadgen, and those of the peers that can hold a rate, by name."""
    return {client.name: client for client in (Loadgen(), *peers) if client.holds_a_rate}
