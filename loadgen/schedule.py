"""When each request is due: Workload -> Schedule. Pure: no clock, no sockets.

A request of a burst or of a user has no time of its own (it is due when it begins), so their schedule is a count, a
bound on how many are in flight, and the moments at which users come and go. One of an open workload is due at the
moment at which the rate, added up since the release, reaches its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loadgen.samples import MOST_KEPT, Ints
from loadgen.workload import Stage, Workload

_BLOCK: Final = 1024
"""Due times made at once: few enough to be made between two requests, and not all at the start of a long run."""
_ROUNDING: Final = 1e-6
"""Of a request: 100/s for 30 s are 3,000, whatever the last bit of a sum says."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shard:
    """One generator's part of a workload that several carry out: number `index` of `of`."""

    index: int = 0
    of: int = 1

    def part(self, total: int) -> int:
        """Of `total` things dealt out in turn, how many fall to this one."""
        return total // self.of + (self.index < total % self.of)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The due times of an open workload."""

    stages: tuple[Stage, ...]
    poisson: bool = False
    seed: int = 0
    shard: Shard = Shard()

    def blocks(self) -> Iterator[Ints]:
        """Due times in ns from the release, ascending, in arrays of shape (a few thousand,).

        Constant arrivals: the request with number k is due when k requests are. Poisson (a unit process, mapped through
        the added-up rate: Lewis and Shedler, 1979): gaps in that measure are exponential with mean 1.
        """
        areas = np.cumsum([stage.area for stage in self.stages])
        random = np.random.default_rng(self.seed)
        number, area = 0, 0.0
        while True:
            if self.poisson:
                at = area + np.cumsum(random.exponential(size=_BLOCK))
                area = float(at[-1])
            else:
                at = np.arange(number, number + _BLOCK, dtype=np.float64)
            mine = np.arange(number, number + _BLOCK) % self.shard.of == self.shard.index
            number += _BLOCK
            due = at[mine & (at < areas[-1] - _ROUNDING)]
            if len(due):
                yield _when_reached(self.stages, areas, due)
            if at[-1] >= areas[-1] - _ROUNDING:
                return

    @property
    def expected(self) -> int:
        """How many requests there are; with random gaps, on average."""
        total = int(np.ceil(sum(stage.area for stage in self.stages) - _ROUNDING))
        return self.shard.part(total)


def _when_reached(stages: Sequence[Stage], areas: Floats, at: Floats) -> Ints:
    """When the added-up rate reaches each of `at`, in ns."""
    which = np.searchsorted(areas, at, side="right")
    begins = np.concatenate(([0.0], np.cumsum([stage.duration_s for stage in stages])))[which]
    before = np.concatenate(([0.0], areas))[which]
    first = np.array([stage.first for stage in stages])[which]
    slope = np.array([(stage.last - stage.first) / stage.duration_s for stage in stages])[which]
    within = at - before
    # first t + slope t^2 / 2 = within, solved so that neither a slope of 0 nor a small one loses digits.
    root = np.sqrt(np.maximum(first * first + 2 * slope * within, 0.0))
    denominator = first + root
    seconds = np.divide(2 * within, denominator, out=np.zeros_like(within), where=denominator > 0)
    due: Ints = np.rint((begins + seconds) * 1e9).astype(np.int64)
    return due


@dataclass(frozen=True, slots=True)
class UserChange:
    """From `at_ns` after the release on there are `users` users."""

    at_ns: int
    users: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """What an engine carries out.

    Invariants: 0 <= released <= in_flight; `arrivals` and `changes` are not both given.
    """

    requests: int | None
    """How many; None: until the last change, or the last arrival."""
    in_flight: int
    """The bound on those in flight."""
    released: int
    """How many are released together at first; each end lets the next one begin."""
    arrivals: Arrivals | None = None
    """The due times of an open workload; None where each request is due when it begins."""
    changes: tuple[UserChange, ...] = ()
    """How the number of users changes after the release; with the last of them, to 0, nothing begins any more."""
    think_ns: int = 0
    """Between a user's answer and the next request."""
    shard: Shard = Shard()
    """Whose part this is."""

    @property
    def known_requests(self) -> int:
        """How many requests are known of beforehand; there may come others where nobody counts them."""
        if self.requests is not None:
            return self.requests
        return self.released if self.arrivals is None else min(self.arrivals.expected, MOST_KEPT)


def make_schedule(workload: Workload, shard: Shard = Shard()) -> Schedule:  # frozen
    """The schedule of a workload, or of one generator's part of it."""
    in_flight = shard.part(workload.concurrency)
    if workload.is_open:
        arrivals = Arrivals(workload.stages, workload.poisson, workload.seed, shard)
        return Schedule(requests=None, in_flight=in_flight, released=0, arrivals=arrivals, shard=shard)
    requests = None if workload.requests is None else shard.part(workload.requests)
    think_ns = round(workload.think_s * 1e9)
    if not workload.stages:
        return Schedule(requests, in_flight, in_flight, think_ns=think_ns, shard=shard)
    levels = list(_user_changes(workload.stages, shard))
    released = levels.pop(0).users if levels[0].at_ns == 0 else 0
    return Schedule(requests, in_flight, released, changes=tuple(levels), think_ns=think_ns, shard=shard)


def _user_changes(stages: Sequence[Stage], shard: Shard) -> Iterator[UserChange]:
    """The number of users over time: the whole ones of the level, dealt out in turn. The last change is to none."""
    users, begins_s = 0, 0.0
    for stage in stages:
        for at_s, level in _steps(stage):
            now = shard.part(level)
            if now != users:
                users = now
                yield UserChange(round((begins_s + at_s) * 1e9), users)
        begins_s += stage.duration_s
    yield UserChange(round(begins_s * 1e9), 0)


def _steps(stage: Stage) -> Iterator[tuple[float, int]]:
    """When, in seconds from the stage's begin, the level passes a whole number, and the whole part from then on."""
    first, last = int(stage.first), int(stage.last)
    yield 0.0, first
    per_user_s = stage.duration_s / abs(stage.last - stage.first) if stage.last != stage.first else 0.0
    for level in range(first + 1, last + 1):
        yield (level - stage.first) * per_user_s, level
    for level in range(first, last, -1):
        yield (stage.first - level) * per_user_s, level - 1
