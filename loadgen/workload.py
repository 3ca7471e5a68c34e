"""How requests come: all at once, from users who each send again, or at a rate; as frozen values, checked when made.

    burst     N requests released at once
    closed    users, each of whom sends again after the answer, until a count or a time is reached
    open      requests at a rate, each at its own moment whatever the answers do

A closed or an open workload may go through stages: stretches over which the number of users, or the rate, is held or
goes evenly from one value to another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from loadgen.errors import UsageError

MOST_SECONDS: Final = 86_400.0
"""Of a pause or a timeout: what the system's own waits can take, and more than anybody means."""
MOST_RATE: Final = 1_000_000.0
"""Requests a second; beyond what one machine's loopback carries."""
MOST_USERS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of time, over which the level (users, or requests a second) goes evenly from `first` to `last`."""

    duration_s: float
    first: float
    last: float

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= MOST_SECONDS:
            raise UsageError("a stage's duration must be above 0 and at most 24h, as in 30s or 5m")
        if not (0 <= self.first <= MOST_RATE and 0 <= self.last <= MOST_RATE):
            raise UsageError("a stage's level is 0 to 1,000,000, as in 30s:100/s, 60s:100/s..2000/s or 30s:64")

    @property
    def area(self) -> float:
        """The level added up over time: of a rate, how many requests are due."""
        return self.duration_s * (self.first + self.last) / 2


@dataclass(frozen=True, slots=True)
class Workload:
    """How many requests, how many at once, and how long each may take."""

    requests: int | None
    """How many; None: as many as there are until the stages end."""
    concurrency: int
    """Requests in flight at once. Equal to `requests`: a burst. Else users: each next request begins when one ends. In
    an open workload the most that may be in flight; with stages of users, the most users."""
    keepalive: bool = True
    """Use a connection again for the next request. Without effect in a burst, where each has its own."""
    preconnect: bool = False
    """Connect all first, then release the requests."""
    timeout_s: float = 60.0
    """From due, bounds everything."""
    connect_timeout_s: float | None = None
    stages: tuple[Stage, ...] = ()
    """The level over time. None: `concurrency` users until `requests` have been sent."""
    is_open: bool = False
    """Whether the stages' level is requests a second, each begun when it is due, instead of users."""
    poisson: bool = False
    """Open: gaps between arrivals are exponential, as from many who know nothing of each other, instead of equal."""
    seed: int = 0
    """Of the random gaps: the same seed, the same moments."""
    think_s: float = 0.0
    """Closed: between a user's answer and the next request."""

    def __post_init__(self) -> None:
        if self.requests is None and not self.stages:
            raise UsageError("how much is not said: give a number of requests (-n) or a duration (-z)")
        if self.stages and not any(stage.area for stage in self.stages):
            raise UsageError("nothing is to be sent: a rate, or the users of a stage, must be above 0")
        if self.requests is not None and self.requests < 1:
            raise UsageError(f"{self.requests} requests are not accepted: --n takes 1 or more")
        if self.requests is None and not 1 <= self.concurrency <= MOST_USERS:
            raise UsageError(f"a concurrency of {self.concurrency} is not accepted: -c takes 1 to {MOST_USERS:,}")
        if self.requests is not None and not 1 <= self.concurrency <= self.requests:
            raise UsageError(
                f"a concurrency of {self.concurrency} is not accepted: -c takes 1 to the number of requests,"
                f" {self.requests}"
            )
        if not 0 < self.timeout_s <= MOST_SECONDS:
            raise UsageError("a timeout must be above 0 and at most 24h, as in 60s or 500ms")
        if self.connect_timeout_s is not None and not 0 < self.connect_timeout_s <= MOST_SECONDS:
            raise UsageError("a connect timeout must be above 0 and at most 24h, as in 5s or 500ms")
        if not 0 <= self.think_s <= MOST_SECONDS:
            raise UsageError("--think takes 0 to 24h, as in 50ms or 2s")
        if self.seed < 0:
            raise UsageError(f"--seed takes 0 or more, not {self.seed}")
        if self.is_open and self.think_s:
            raise UsageError("--think belongs to users, and an open workload (--rate) has none")
        if self.is_open and self.preconnect:
            raise UsageError("--preconnect belongs to requests released together, and those of --rate are not")
        if self.stages and sum(stage.duration_s for stage in self.stages) > MOST_SECONDS:
            raise UsageError("the stages together last more than 24h")

    def lone(self) -> Workload:
        """One request alone, sent as those of this workload are."""
        return replace(self, requests=1, concurrency=1, stages=(), is_open=False, think_s=0.0)

    @property
    def is_burst(self) -> bool:
        """Whether all requests are released at once."""
        return self.concurrency == self.requests and not self.stages

    @property
    def reuses_connections(self) -> bool:
        """Whether a connection can serve more than one request."""
        return self.keepalive and not self.is_burst

    @property
    def is_steady(self) -> bool:
        """Whether the same number of users is there from the release to the end."""
        level = float(self.concurrency)
        return not self.is_open and all(stage.first == stage.last == level for stage in self.stages)

    @property
    def duration_s(self) -> float | None:
        """For how long requests begin; None where a count ends it."""
        return sum(stage.duration_s for stage in self.stages) if self.stages else None

    @property
    def released(self) -> int:
        """How many requests begin together at the release."""
        if self.is_open:
            return 0
        return int(self.stages[0].first) if self.stages else self.concurrency
