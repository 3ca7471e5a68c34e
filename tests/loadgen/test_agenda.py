"""What a run does when more is due than it can begin at once."""

from __future__ import annotations

import asyncio
import select
from time import perf_counter_ns

from loadgen.engines.wire.agenda import NEVER, Agenda
from loadgen.engines.wire.poller import make_poller
from loadgen.schedule import Arrivals, Schedule
from loadgen.workload import Stage

NS = 1_000_000_000


class Told:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.due: list[int] = []
        self.has_stopped = False

    def begin_due(self, due_ns: int) -> None:
        self.due.append(due_ns)

    def wake_user(self) -> None:
        raise AssertionError("an open load has no users")

    def set_users(self, users: int) -> None:
        raise AssertionError("an open load has no users")

    def stop_beginning(self) -> None:
        self.has_stopped = True


async def _late_by_all() -> None:
    told, poller = Told(), make_poller()
    arrivals = Arrivals((Stage(1, 3000, 3000),))  # more than are made in advance
    agenda = Agenda(told, Schedule(None, 10, 0, arrivals), poller)
    try:
        agenda.begin(perf_counter_ns() - 10 * NS)
        assert agenda.next_ns < perf_counter_ns()
        assert select.select([poller.fileno()], [], [], 10)[0]

        agenda.catch_up(1)
        assert len(told.due) == 1
        agenda.catch_up(16)
        assert len(told.due) == 17
        assert agenda.next_ns < perf_counter_ns()
        assert select.select([poller.fileno()], [], [], 0)[0]  # it goes on calling

        while not told.has_stopped:
            agenda.catch_up(16)
        assert len(told.due) == 3000
        assert told.due == sorted(told.due)
        assert agenda.next_ns == NEVER
        assert not select.select([poller.fileno()], [], [], 0)[0]
    finally:
        agenda.close()
        poller.close()


def test_only_so_many_begin_together_and_none_is_lost() -> None:
    asyncio.run(_late_by_all())
