"""What a request's target asks for. No sockets and no clock but the one that `block` watches."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from urllib.parse import parse_qsl

from servers.calibrated.settings import NS_PER_MS

MAX_SLEEP_MS = 3_600_000
# These two hold the whole server, signals included.
MAX_BLOCK_MS = 60_000
MAX_STEPS = 100_000_000
DEFAULT_STEPS = 100_000


class Kind(Enum):
    """The sorts of work."""

    SERVICE = "service"  # /sleep and every path that is not named here: takes a slot of the limit
    DOWNSTREAM = "downstream"  # takes a slot, and in it one of the pool
    BLOCK = "block"  # these two hold the loop, outside of the limit
    CPU = "cpu"
    THREAD = "thread"  # these are answered at once, outside of the limit
    JSON = "json"
    STATS = "stats"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Task:
    """One target, read.

    Attributes:
        kind: What to do.
        length_ns: How long, in nanoseconds; None for the server's own service time.
        steps: How many steps of /cpu.
        reset: Whether /stats begins anew after it has answered.
        message: For `Kind.BAD`, what is accepted.
    """

    kind: Kind
    length_ns: int | None = None
    steps: int = 0
    reset: bool = False
    message: str = ""


_AT_ONCE = {"/thread": Kind.THREAD, "/json": Kind.JSON}


@lru_cache(maxsize=4096)
def read_target(target: bytes) -> Task:
    """Returns what a request's target (path and query) asks for; a bad parameter gives a task of `Kind.BAD`."""
    path, _, query = target.decode("latin-1").partition("?")
    try:
        parameters = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=100))
        return _task(path, parameters)
    except ValueError as error:
        return Task(Kind.BAD, message=str(error))


def _task(path: str, parameters: dict[str, str]) -> Task:
    match path:
        case "/sleep":
            return Task(Kind.SERVICE, length_ns=_length_ns(parameters, None, MAX_SLEEP_MS))
        case "/downstream":
            return Task(Kind.DOWNSTREAM, length_ns=_length_ns(parameters, 100, MAX_SLEEP_MS))
        case "/block":
            return Task(Kind.BLOCK, length_ns=_length_ns(parameters, 1000, MAX_BLOCK_MS))
        case "/cpu":
            return Task(Kind.CPU, steps=_steps(parameters))
        case "/stats":
            return Task(Kind.STATS, reset=_reset(parameters))
        case _:
            return Task(_AT_ONCE.get(path, Kind.SERVICE))


def _length_ns(parameters: dict[str, str], default_ms: float | None, most_ms: int) -> int | None:
    text = parameters.get("ms")
    if text is None:
        return None if default_ms is None else round(default_ms * NS_PER_MS)
    try:
        length_ms = float(text)
    except ValueError:
        length_ms = math.nan
    if not 0 <= length_ms <= most_ms:
        raise ValueError(f"ms: accepted is a number from 0 to {most_ms}")
    return round(length_ms * NS_PER_MS)


def _steps(parameters: dict[str, str]) -> int:
    text = parameters.get("steps", str(DEFAULT_STEPS))
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) <= MAX_STEPS):
        raise ValueError(f"steps: accepted is a whole number from 0 to {MAX_STEPS}")
    return int(text)


def _reset(parameters: dict[str, str]) -> bool:
    text = parameters.get("reset", "0")
    if text not in ("0", "1"):
        raise ValueError("reset: accepted is 0 or 1")
    return text == "1"


def block(length_ns: int) -> None:
    """Spins until the clock has moved by so many nanoseconds."""
    end_ns = time.monotonic_ns() + length_ns
    while time.monotonic_ns() < end_ns:
        pass


def cpu(steps: int) -> int:
    """Returns what a fixed amount of integer work ends in.

    Each step is one of a 32-bit linear congruential generator and an xor-shift, beginning at 1.
    """
    x = 1
    for _ in range(steps):
        x = (x * 1_664_525 + 1_013_904_223) & 0xFFFF_FFFF
        x ^= x >> 17
    return x
