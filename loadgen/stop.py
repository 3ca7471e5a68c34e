"""What a signal to stop does: while a run lasts it ends the engine's work, lest a run that was carried out be lost."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from loadgen.entry import STOP_SIGNALS

_LOOK_S: Final = 0.1


def rest(seconds: float) -> None:
    """Waits, and lets a signal end that within a tenth of a second.

    One that comes just as the thread begins to sleep, as while another thread holds the interpreter, is acted on only
    after the sleep: so there are many short ones.
    """
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_S))


class Stop:
    """Notes the signals of a session, and passes them on to what is under way.

    Attributes:
        noted: whether one has come.
    """

    def __init__(self) -> None:
        self.noted = False
        self._task: asyncio.Future[None] | None = None

    def raise_if_noted(self) -> None:
        """Raises KeyboardInterrupt where a signal has come."""
        if self.noted:
            raise KeyboardInterrupt

    @contextmanager
    def notes_signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """A signal that comes here cancels what `ends` waits for on this loop, and does no more."""

        def note(number: int, frame: FrameType | None) -> None:
            self.noted = True
            if self._task is not None:
                loop.call_soon_threadsafe(self._task.cancel)

        if threading.current_thread() is not threading.main_thread():  # signals are not this thread's business
            yield
            return
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
        for number in before:
            signal.signal(number, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def ends(self, task: asyncio.Future[None]) -> bool:
        """Waits until the work has ended; returns whether a signal ended it."""
        self._task = task
        if self.noted:  # since the run was begun
            task.cancel()
        try:
            with suppress(asyncio.CancelledError):
                await task
        finally:
            self._task = None
        return task.cancelled()
