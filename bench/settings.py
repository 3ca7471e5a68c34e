"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.clients.base import Client


@dataclass(frozen=True, slots=True)
class Settings:
    """The same for all sections."""

    rounds: int
    quick: bool
    """So little that the figures mean nothing: for trying the bench itself."""
    peers: tuple[Client, ...]
    server: Path
    floor: Path
