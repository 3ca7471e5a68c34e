"""Numbers and lists as sentences have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Terms:
    """What sentences call what is measured: a server and its requests, or an executor and its tasks."""

    server: str = "the server"
    request: str = "request"
    alone: str = "a request sent alone"
    bound: str = "the CPU"
    """What those that compute at the same time have to share."""
    waits: bool = True
    """Whether it is waiting that they may do side by side; else they are known to compute."""
    networked: bool = True
    """Whether TCP stands between, so that what it does may be told, or be missing."""

    def requests(self, number: int) -> str:
        """`1 request`, `1,200 requests`."""
        return counted(number, self.request)


HTTP: Final = Terms()


def spoken_ms(ns: float) -> str:
    """A duration in ms: whole from 10 ms on, in thousands with commas; below with one decimal."""
    ms = ns / 1e6
    return f"{ms:,.0f} ms" if ms >= 9.95 else f"{ms:.1f} ms"


def spoken_s(seconds: float) -> str:
    """A duration in seconds without needless decimals."""
    return f"{seconds:.1f}".removesuffix(".0") + " s"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 request`, `1,200 requests`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def joined(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def waves_sum(waves: Sequence[int], most: int = 6) -> str:
    """`200 + 200`; many waves are shortened: `40 + 40 + ... + 40`."""
    shown = [f"{wave:,}" for wave in waves]
    if len(shown) > most:
        shown = [*shown[:2], "...", shown[-1]]
    return " + ".join(shown)
