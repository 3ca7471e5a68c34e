"""Readiness of a run's sockets and of its timer, dispatched in turns with the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Final

from loadgen.engines.wire.agenda import Agenda
from loadgen.engines.wire.connection import Connection
from loadgen.engines.wire.poller import Poller

_BATCH: Final = 512
_BATCH_ON_TIME: Final = 64
_WHEN_ANSWERED: Final = 1
_WHEN_DUE: Final = 16
"""How many of the requests that are due begin together, after an answer and when the timer has gone off."""
_TURN_NS: Final = 5_000_000
"""For so long the engine goes on with what is ready before it lets the loop do anything else."""


class Readiness:
    """Has the connections handle what they are ready for. A defect of ours met there ends the run with it."""

    def __init__(
        self, poller: Poller, live: Mapping[int, Connection], agenda: Agenda | None, finished: asyncio.Future[None]
    ) -> None:
        """Of the `live` connections by descriptor; the `agenda` where requests begin at moments of their own."""
        self._poll = poller.poll
        self._live = live
        self._agenda = agenda
        self._finished = finished

    def drain(self) -> None:
        """Handles what is ready, for a bounded time."""
        poll, live = self._poll, self._live
        turn_ends = perf_counter_ns() + _TURN_NS
        try:
            while ready := poll(0, _BATCH):
                for fd, events in ready:
                    live[fd].handle(events)
                if perf_counter_ns() > turn_ends:
                    return
        except BaseException as error:  # a defect of ours: end the run with it, where the loop would only log it
            if not self._finished.done():
                self._finished.set_exception(error)

    def drain_on_time(self) -> None:
        """The same where requests begin at moments of their own: none must wait for a batch of answers.

        When many are due, answers and requests take turns: if either waited for all of the other, late answers would
        keep connections from the requests, which then open new ones, and are later still.
        """
        agenda, poll, live = self._agenda, self._poll, self._live
        assert agenda is not None
        turn_ends = perf_counter_ns() + _TURN_NS
        try:
            while ready := poll(0, _BATCH_ON_TIME):
                for fd, events in ready:
                    if fd in live:
                        live[fd].handle(events)
                    if perf_counter_ns() >= agenda.next_ns:
                        agenda.catch_up(_WHEN_ANSWERED if fd != agenda.fd else _WHEN_DUE)
                if perf_counter_ns() > turn_ends:
                    return
        except BaseException as error:
            if not self._finished.done():
                self._finished.set_exception(error)
