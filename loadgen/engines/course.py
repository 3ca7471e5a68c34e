"""When requests through a client library begin, and who waits for whom: users, and arrivals at their moments."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from time import perf_counter_ns
from typing import Final

from loadgen.engines import Job
from loadgen.engines.exchange import Classify, Exchange, Send, current
from loadgen.engines.timer import Alarm
from loadgen.outcome import Outcome
from loadgen.request import Requests

_GIVE_WAY: Final = 32
"""An open workload that is late lets answers in after so many requests."""


async def carry_out(job: Job, sends: Sequence[Send], classify: Classify) -> None:
    """Carries out the schedule, with one of `sends` for each request in flight; returns when all have ended.

    Workers released together are made first and begin in the same turn of the event loop. Each takes the next row when
    its last has ended.
    """
    course = _Course(job, sends, classify)
    try:
        await (course.open() if job.schedule.arrivals is not None else course.closed())
    finally:
        await course.stop()


class _Course:
    """One run's requests as they begin and end."""

    def __init__(self, job: Job, sends: Sequence[Send], classify: Classify) -> None:
        self._job = job
        self._free = list(reversed(sends))
        self._classify = classify
        self._requests = Requests(job.plan, job.schedule.shard)
        self._next = 0
        self._users = 0
        """Who should be there."""
        self._present = 0
        """Who are: one too many leaves after the answer."""
        self._live: dict[Exchange, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thinkers: set[asyncio.Task[None]] = set()
        self._trouble: BaseException | None = None

    async def open(self) -> None:
        """Each request when it is due; at the cap it has failed, for want of room on this machine."""
        await self._job.release_comes()
        release_ns = self._job.recorder.release(self._job.release_at_ns)
        self._start(self._arrive(release_ns))
        await self._all_ended()

    async def closed(self) -> None:
        """Users, who come and go at their moments."""
        await self._job.release_comes()
        self._set_users(self._job.schedule.released)
        release_ns = self._job.recorder.release(self._job.release_at_ns)
        if self._job.schedule.changes:
            self._start(self._come_and_go(release_ns))
        await self._all_ended()

    async def stop(self) -> None:
        """Ends what is still under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._job.schedule.requests is None:
            self._job.recorder.used = self._next

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self._trouble is None:
            self._trouble = error
            for other in self._tasks:
                other.cancel()

    async def _all_ended(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)
        if self._trouble is not None:
            raise self._trouble

    async def _arrive(self, release_ns: int) -> None:
        arrivals = self._job.schedule.arrivals
        assert arrivals is not None
        with Alarm() as alarm:
            for block in arrivals.blocks():
                for number, due_ns in enumerate((block + release_ns).tolist()):
                    await alarm.until(due_ns)
                    if number % _GIVE_WAY == 0:
                        await asyncio.sleep(0)
                    if self._free:
                        self._start(self._once(self._exchange(due_ns), self._free.pop(), due_ns))
                    else:
                        self._row_at_the_cap(due_ns)

    async def _come_and_go(self, release_ns: int) -> None:
        with Alarm() as alarm:
            for change in self._job.schedule.changes:
                await alarm.until(release_ns + change.at_ns)
                self._set_users(change.users)
        self._end_thinking()

    def _set_users(self, users: int) -> None:
        self._users = users
        while self._present < users:
            self._present += 1
            self._start(self._user(self._free.pop()))

    async def _once(self, exchange: Exchange, send: Send, due_ns: int) -> None:
        await self._carry_out(exchange, send, due_ns)
        self._free.append(send)

    async def _user(self, send: Send) -> None:
        while self._present <= self._users and not self._has_begun_all:
            await self._carry_out(self._exchange(), send)
            if self._job.schedule.think_ns and not self._has_begun_all:
                await self._think()
        self._present -= 1
        self._free.append(send)

    async def _think(self) -> None:
        thinker = asyncio.current_task()
        assert thinker is not None
        self._thinkers.add(thinker)
        await asyncio.sleep(self._job.schedule.think_ns / 1e9)
        self._thinkers.discard(thinker)

    def _end_thinking(self) -> None:
        """Nothing begins any more: the run need not wait for those who would."""
        for thinker in self._thinkers:
            thinker.cancel()

    @property
    def _has_begun_all(self) -> bool:
        requests = self._job.schedule.requests
        return requests is not None and self._next >= requests

    async def _carry_out(self, exchange: Exchange, send: Send, due_ns: int | None = None) -> None:
        current.set(exchange)
        await exchange.carry_out(send, self._classify, due_ns)
        del self._live[exchange]

    def _exchange(self, due_ns: int | None = None) -> Exchange:
        """That of the next request. One that is due has its row from now on, even if it is never begun."""
        row = self._take()
        if due_ns is not None:
            self._job.recorder.due[row] = due_ns
        number, seq = self._requests.take()
        self._job.recorder.target[row] = number
        target = self._requests.target(number, seq)
        exchange = Exchange(self._job.recorder, row, self._job.plan.workload, target)
        self._live[exchange] = None
        return exchange

    def _take(self) -> int:
        """The next row; where nobody counts them, room is made for it."""
        recorder = self._job.recorder
        if self._next == recorder.rows:
            moved = recorder.more([exchange.row for exchange in self._live])
            if moved is not None:
                for row, exchange in enumerate(self._live):
                    exchange.row = row
                self._next = moved
        self._next += 1
        if self._has_begun_all:
            self._end_thinking()
        return self._next - 1

    def _row_at_the_cap(self, due_ns: int) -> None:
        row, recorder = self._take(), self._job.recorder
        recorder.target[row], _ = self._requests.take()
        recorder.due[row], recorder.done[row] = due_ns, perf_counter_ns()
        recorder.outcome[row] = Outcome.CLIENT
