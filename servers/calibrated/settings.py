"""The knobs of the calibrated server, checked. Knows nothing of sockets or of the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
DAY_MS = 86_400_000
MAX_COUNT = 1_000_000


class SettingsError(ValueError):
    """A knob has a value that it does not accept; the message is one line that says which it does."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server keeps to.

    Attributes:
        host: Address or name to listen on; a name's first address is taken.
        port: TCP port; 0 lets the kernel choose.
        limit: Most requests worked on at once, the others wait in order; 0 for no limit.
        service_ms: How long each request is worked on, in milliseconds.
        jitter_ms: Each service is longer or shorter by up to so many milliseconds, uniformly.
        backlog: Length of the kernel's accept queue as asked for; the kernel takes at most net.core.somaxconn.
        connections: Most connections accepted at once, the others stay in the accept queue; 0 for no limit.
        shed: Beyond `limit`, answer 503 at once instead of letting requests wait.
        stall_every_ms: Stand still each time so many milliseconds have passed since the start; 0 for never.
        stall_for_ms: How long each standstill lasts, in milliseconds.
        seed: Seed of the jitter: the same seed gives the same services in the same order.
        realtime: Ask the system for real-time scheduling.

    Raises:
        SettingsError: A value out of its range, or a knob that needs another one.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    limit: int = 0
    service_ms: float = 1000.0
    jitter_ms: float = 0.0
    backlog: int = 4096
    connections: int = 0
    shed: bool = False
    stall_every_ms: float = 0.0
    stall_for_ms: float = 0.0
    seed: int = 1
    realtime: bool = False

    def __post_init__(self) -> None:
        _check("port", self.port, 0, 65_535)
        _check("limit", self.limit, 0, MAX_COUNT)
        _check("service_ms", self.service_ms, 0, DAY_MS)
        _check("jitter_ms", self.jitter_ms, 0, self.service_ms, "the service time")
        _check("backlog", self.backlog, 0, 2**31 - 1)
        _check("connections", self.connections, 0, MAX_COUNT)
        if self.shed and not self.limit:
            raise SettingsError("shed: needs a limit above 0 to shed beyond")
        if self.stall_every_ms or self.stall_for_ms:
            ordered = 0 < self.stall_for_ms < self.stall_every_ms <= DAY_MS
            if not ordered:
                raise SettingsError(f"stall: accepted is P/Q in milliseconds with 0 < Q < P <= {DAY_MS}")


def concurrency_limit(limit: int, connections: int) -> int | None:
    """Returns how many requests are worked on at once under these two knobs; None for no limit."""
    return min((each for each in (limit, connections) if each), default=None)


def parse_stall(text: str) -> tuple[float, float]:
    """Reads `P/Q`: every P ms, stand still for Q ms.

    Returns:
        P and Q, in milliseconds; (0, 0) for an empty text or `0`, which is never.

    Raises:
        SettingsError: The text is not two finite numbers with a slash between them.
    """
    if text in ("", "0"):
        return 0.0, 0.0
    every, slash, length = text.partition("/")
    try:
        stall = float(every), float(length)
    except ValueError:
        stall = (math.nan, math.nan)
    if not slash or not all(map(math.isfinite, stall)):
        raise SettingsError(f"stall: accepted is P/Q in milliseconds, such as 1000/200, not {text!r}")
    return stall


def _check(name: str, value: float, low: float, high: float, high_name: str = "") -> None:
    # Written so that NaN, which compares false with everything, is refused too.
    if not low <= value <= high:
        accepted = f"{high:g}" if high < 1e6 else f"{high:.0f}"
        raise SettingsError(f"{name}: accepted is {low:g} to {high_name or accepted}, not {value}")
