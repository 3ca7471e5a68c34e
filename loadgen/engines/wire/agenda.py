"""What a run does at moments of its own: requests that are due, users who have thought, users who come and go."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Final, Protocol

from loadgen.engines.timer import make_timer
from loadgen.engines.wire.poller import READ, Poller
from loadgen.schedule import Schedule

NEVER: Final = 2**63 - 1


class Paced(Protocol):
    """What the agenda tells of a run."""

    def begin_due(self, due_ns: int) -> None:
        """A request is due."""

    def wake_user(self) -> None:
        """A user has thought for long enough."""

    def set_users(self, users: int) -> None:
        """From now on there are so many users."""

    def stop_beginning(self) -> None:
        """Nothing begins any more."""


class Agenda:
    """The moments of one run, in the order in which they come. Readings of perf_counter_ns.

    Attributes:
        next_ns: when there is something to do next.
        thinking: users between an answer and the next request, by when they wake; ascending, because all think for as
            long.
    """

    def __init__(self, run: Paced, schedule: Schedule, poller: Poller) -> None:
        self._run = run
        self._schedule = schedule
        self._poller = poller
        self._timer = make_timer()
        self.fd = self._timer.fileno()
        self.next_ns = NEVER
        self.thinking: deque[int] = deque()
        self._blocks: Iterator[list[int]] = iter(())
        self._due: list[int] = []
        self._at = 0
        self._changes = iter(schedule.changes)
        self._release_ns = 0
        self._change = next(self._changes, None)

    def begin(self, release_ns: int) -> None:
        """The run has been released."""
        self._release_ns = release_ns
        arrivals = self._schedule.arrivals
        if arrivals is not None:
            self._blocks = ((block + release_ns).tolist() for block in arrivals.blocks())
            self._due = next(self._blocks, [])
            if not self._due:
                self._run.stop_beginning()
        self._poller.register(self.fd, READ)
        self.catch_up()

    def handle(self, events: int) -> None:
        """The timer has woken the run."""
        self.catch_up()

    def think(self, now_ns: int) -> None:
        """A user begins to think."""
        wakes_ns = now_ns + self._schedule.think_ns
        self.thinking.append(wakes_ns)
        if wakes_ns < self.next_ns:
            self._set(wakes_ns)

    def catch_up(self) -> None:
        """Does all that is due, and sets the timer for what comes next."""
        now = perf_counter_ns()
        if self._due:
            self._arrive(now)
        while self.thinking and self.thinking[0] <= now:
            self.thinking.popleft()
            self._run.wake_user()
        while self._change is not None and self._release_ns + self._change.at_ns <= now:
            self._run.set_users(self._change.users)
            self._change = next(self._changes, None)
            if self._change is None:
                self._run.stop_beginning()
        self._set(min(self._due_ns, self.thinking[0] if self.thinking else NEVER, self._change_ns))

    def close(self) -> None:
        """Frees the timer."""
        self._timer.close()

    def _arrive(self, now: int) -> None:
        due, at = self._due, self._at
        while due[at] <= now:
            self._run.begin_due(due[at])
            at += 1
            if at == len(due):
                due, at = next(self._blocks, []), 0
                self._due = due
                if not due:
                    self._run.stop_beginning()
                    break
            now = perf_counter_ns()  # beginning took its time, and the next may be due by now
        self._at = at

    @property
    def _due_ns(self) -> int:
        return self._due[self._at] if self._due else NEVER

    @property
    def _change_ns(self) -> int:
        return NEVER if self._change is None else self._release_ns + self._change.at_ns

    def _set(self, next_ns: int) -> None:
        self.next_ns = next_ns
        if next_ns == NEVER:
            self._timer.clear()
        else:
            self._timer.set(next_ns)
