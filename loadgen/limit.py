"""Searching a server's concurrency limit: bursts that grow until some wait, then a burst at the limit and one beyond.

A burst in which requests waited shows the limit by itself (the first wave is as large as the limit). The two that
follow hold it against the server: with as many requests as the limit none may wait, with a few more some must.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from loadgen.explain import Finding
from loadgen.explain.runs import gist
from loadgen.plan import Plan
from loadgen.run import Run
from loadgen.runner import Session
from loadgen.stop import rest

SCHEMA: Final = "loadgen-limit/1"

_LIMITS: Final = ("serial", "concurrency-limit", "connection-limit", "shed")
_ENDS: Final = (*_LIMITS, "accept-queue", "timeout", "cpu-shared")
"""Causes beyond which a larger burst tells nothing more about places."""
_OFF: Final = 0.4
"""Of a service time; so near to one or two of them a response time is."""
_BEYOND: Final = 0.02
"""The last burst goes beyond the limit by this part of it, and by one at least."""


@dataclass(frozen=True, slots=True)
class Burst:
    """One burst of the search."""

    n: int
    run: Run

    def finding(self, causes: tuple[str, ...]) -> Finding | None:
        """Its first finding with one of these causes."""
        return next((finding for finding in self.run.findings if finding.cause in causes), None)

    def waited(self, service_ms: float) -> int | None:
        """How many took about twice a service time that is known, where all others took it once; else None."""
        times_ms = self.run.samples.response_ns[self.run.samples.ok] / 1e6
        turns = times_ms / service_ms
        once, twice = (np.abs(turns - number) <= _OFF for number in (1, 2))
        return int(np.count_nonzero(twice)) if len(turns) == self.n and bool((once | twice).all()) else None

    @property
    def line(self) -> str:
        """For a person."""
        wall_ns = self.run.summary.wall_ns
        wall = "n/a" if wall_ns is None else f"{wall_ns / 1e6:.0f}"
        found = [gist([finding]) for finding in self.run.findings] or ["nothing to tell"]
        return f"burst of {self.n}: ok={self.run.summary.ok} wall_ms={wall}: {'; '.join(found)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the search came to. `limit` is None where none was met."""

    limit: int | None
    cause: str
    service_ms: float | None
    sure: str
    """`confirmed`, `shown` (by waves, but not confirmed), `none-met`, or `unclear`."""
    most: int
    """The largest burst."""
    requests: int
    """How many it took in all."""
    sentence: str
    measured: bool

    @property
    def line(self) -> str:
        """For other programs: fixed keys, in this order."""
        limit = "n/a" if self.limit is None else self.limit
        service = "n/a" if self.service_ms is None else f"{self.service_ms:.0f}"
        return f"limit={limit} service_ms={service} sure={self.sure} largest_burst={self.most} requests={self.requests}"

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": SCHEMA,
            "limit": self.limit,
            "cause": self.cause,
            "service_ms": self.service_ms,
            "sure": self.sure,
            "largest_burst": self.most,
            "requests": self.requests,
            "sentence": self.sentence,
        }


def _confirm(at: Burst, beyond: Burst, found: Finding) -> bool:
    """Whether none waited in the burst at the limit, and in the one beyond it as many did as there were more."""
    limit = int(found.details["limit"])
    again = beyond.finding(_LIMITS)
    near = again is not None and abs(int(again.details["limit"]) - limit) <= max(1, round(_BEYOND * limit))
    if at.finding(_LIMITS) is None and near:
        return True
    service_ms = found.details.get("service_ms")
    if service_ms is None or found.cause == "shed":
        return False
    # Of so few that waited, chance could do the same in one burst; what was known before it can not.
    return at.waited(service_ms) == 0 and beyond.waited(service_ms) == beyond.n - limit


class Search:
    """The search at one target."""

    def __init__(self, plan: Callable[[int], Plan], most: int) -> None:
        """`plan` makes a burst of so many requests; none larger than `most` is tried, but to confirm a limit."""
        self._plan = plan
        self._most = most
        self._bursts: list[Burst] = []
        self._at: Burst | None = None
        self._beyond: Burst | None = None
        self.interrupted = False

    def bursts(self) -> Iterator[Burst]:
        """Carries the search out and gives each burst as it ends."""
        n = 1
        while not self.interrupted:
            burst = self._fire(n)
            if burst is None:
                break
            yield burst
            if burst.run.summary.ok == 0 or burst.finding(_ENDS) is not None or n >= self._most:
                break
            n = min(2 * n, self._most)
        limit = self._shown()
        if limit is None or self.interrupted:
            return
        self._at = self._fire(limit)
        if self._at is not None:
            yield self._at
        if not self.interrupted:
            self._beyond = self._fire(limit + max(1, round(_BEYOND * limit)))
        if self._beyond is not None:
            yield self._beyond

    def verdict(self) -> Verdict:
        """What the bursts so far come to."""
        last = self._bursts[-1] if self._bursts else None
        found = self._limiting()
        lone = self._bursts[0].run.summary.times if self._bursts else None
        service_ms = lone.p50_ns / 1e6 if lone else None
        if found is not None:
            service_ms = found.details.get("service_ms", service_ms)
        cause, sure, sentence = self._judge(found, last)
        return Verdict(
            limit=self._shown(),
            cause=cause,
            service_ms=service_ms,
            sure=sure,
            most=max((burst.n for burst in self._bursts), default=0),
            requests=sum(burst.n for burst in self._bursts),
            sentence=sentence,
            measured=any(burst.run.summary.ok for burst in self._bursts),
        )

    def _fire(self, n: int) -> Burst | None:
        """None where a signal came before the burst had begun."""
        plan = self._plan(n)
        try:
            if self._bursts:
                rest(plan.pause_s)
            with Session(plan) as session:
                burst = Burst(n, session.run(1))
                self._bursts.append(burst)
                self.interrupted = burst.run.interrupted or session.is_stopped
        except KeyboardInterrupt:  # between two bursts
            self.interrupted = True
            return None
        return burst

    def _limiting(self) -> Finding | None:
        return next((found for burst in self._bursts if (found := burst.finding(_LIMITS)) is not None), None)

    def _shown(self) -> int | None:
        found = self._limiting()
        limit = None if found is None else found.details.get("limit")
        return None if limit is None else int(limit)

    def _judge(self, found: Finding | None, last: Burst | None) -> tuple[str, str, str]:
        """Cause, how sure, and the sentence."""
        if last is None or not any(burst.run.summary.ok for burst in self._bursts):
            return "unexplained", "unclear", "no request was answered, so there is nothing to tell."
        if found is None:
            other = last.finding(("accept-queue", "timeout", "cpu-shared", "client"))
            if other is not None and other.cause != "client":
                return other.cause, "unclear", f"the search ended at a burst of {last.n:,}: {other.sentence}"
            if last.n <= 1 or last.finding(("overlapped",)) is None:
                return "unexplained", "unclear", f"up to {last.n:,} at once the times are too small to tell."
            return "overlapped", "none-met", f"no limit was met up to {last.n:,} at once; --most tries more."
        does = {"connection-limit": "has", "shed": "sheds:"}.get(found.cause, "works on")
        what = f"the server {does} {gist([found])}"
        if self._at is None or self._beyond is None:
            return found.cause, "shown", f"{what}, shown by one burst of {self._bursts[-1].n:,}."
        if _confirm(self._at, self._beyond, found):
            return (
                found.cause,
                "confirmed",
                f"{what}: of {self._at.n:,} sent at once none waited, of {self._beyond.n:,} some did.",
            )
        return (
            found.cause,
            "shown",
            f"{what}, shown by waves; bursts of {self._at.n:,} and {self._beyond.n:,} did not confirm it clearly.",
        )
