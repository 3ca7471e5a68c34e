"""What a run does at moments of its own: requests that are due, users who have thought, users who come and go."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Final, Protocol

from loadgen.engines.timer import make_timer
from loadgen.engines.wire.poller import READ, Poller
from loadgen.samples import Ints
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
        next_ns: when there is something to do next; past where not all was done that is due.
        thinking: users between an answer and the next request, by when they wake; ascending, because all think for as
            long.
    """

    def __init__(self, run: Paced, schedule: Schedule, poller: Poller) -> None:
        self._run = run
        self._think_ns = schedule.think_ns
        self._poller = poller
        self._timer = make_timer()
        self.fd = self._timer.fileno()
        self.next_ns = NEVER
        self.thinking: deque[int] = deque()
        self._is_open = schedule.arrivals is not None
        self._blocks: Iterator[Ints] = iter(()) if schedule.arrivals is None else schedule.arrivals.blocks()
        self._first = next(self._blocks, None)  # made ahead of the release, because it takes longest
        self._due: Iterator[int] = iter(())
        self._due_ns = NEVER
        self._changes = iter(schedule.changes)
        self._change = next(self._changes, None)
        self._change_ns = NEVER
        self._release_ns = 0

    def begin(self, release_ns: int) -> None:
        """The run has been released."""
        self._release_ns = release_ns
        if self._change is not None:
            self._change_ns = release_ns + self._change.at_ns
        if self._is_open:
            self._take_block(self._first)
        self.next_ns = self._next_ns()
        self._set_timer()
        self._poller.register(self.fd, READ)

    def think(self, now_ns: int) -> None:
        """A user begins to think."""
        wakes_ns = now_ns + self._think_ns
        self.thinking.append(wakes_ns)
        if wakes_ns < self.next_ns:
            self.next_ns = wakes_ns
            self._timer.set(wakes_ns)

    def catch_up(self, most: int) -> None:
        """Does what is due, of requests at most so many, and sets the timer for what comes next."""
        now = perf_counter_ns()
        run, thinking = self._run, self.thinking
        for _ in range(most):
            if self._due_ns <= now:
                due_ns = self._due_ns
                self._due_ns = next(self._due, NEVER)
                run.begin_due(due_ns)
                if self._due_ns == NEVER:
                    self._take_block(next(self._blocks, None))
            elif thinking and thinking[0] <= now:
                thinking.popleft()
                run.wake_user()
            else:
                break
            now = perf_counter_ns()  # that took its time, and the next may be due by now
        while self._change_ns <= now:
            self._change_users()
        self.next_ns = self._next_ns()
        if self.next_ns > now:  # else it has gone off, and goes on calling until it is set again
            self._set_timer()

    def close(self) -> None:
        """Frees the timer."""
        self._timer.close()

    def _take_block(self, block: Ints | None) -> None:
        if block is None:
            self._run.stop_beginning()
        else:
            self._due = iter((block + self._release_ns).tolist())
            self._due_ns = next(self._due)

    def _change_users(self) -> None:
        assert self._change is not None
        self._run.set_users(self._change.users)
        self._change = next(self._changes, None)
        if self._change is None:
            self._change_ns = NEVER
            self._run.stop_beginning()
        else:
            self._change_ns = self._release_ns + self._change.at_ns

    def _next_ns(self) -> int:
        return min(self._due_ns, self._change_ns, self.thinking[0] if self.thinking else NEVER)

    def _set_timer(self) -> None:
        if self.next_ns == NEVER:
            self._timer.clear()
        else:
            self._timer.set(self.next_ns)
