"""One precise wake-up of the event loop.

The loops' own timers are rounded to a millisecond (uvloop, epoll_wait); a timerfd that the loop reads is good to a few
hundredths. Where there is none, the loop's timer has to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Protocol

from servers.calibrated.settings import NS_PER_S

# From <sys/timerfd.h>; the flags are those of open(2).
_CLOCK_MONOTONIC = 1
_TFD_TIMER_ABSTIME = 1


class Alarm(Protocol):
    """Calls back once at a moment of `time.monotonic_ns`; setting it again moves the moment."""

    def set(self, at_ns: int) -> None:
        """Moves the alarm to a moment; one that has passed rings at once."""

    def close(self) -> None:
        """Takes the alarm off the loop."""


def make_alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> Alarm:
    """Returns the most precise alarm of this platform. `ring` must set the alarm again, if only far away."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            return TimerfdAlarm(loop, ring)
    return LoopAlarm(loop, ring)


class _Itimerspec(ctypes.Structure):
    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class TimerfdAlarm:
    """An alarm made of a Linux timerfd.

    Raises:
        OSError: The kernel gives no timer.
        AttributeError: The C library has none.
    """

    __slots__ = ("_fd", "_loop", "_settime", "_spec", "_spec_pointer")

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        # By ctypes, because os.timerfd_create came with Python 3.13 only.
        libc = ctypes.CDLL(None, use_errno=True)
        self._settime = libc.timerfd_settime
        self._spec = _Itimerspec()
        self._spec_pointer = ctypes.byref(self._spec)
        self._fd: int = libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._loop = loop
        loop.add_reader(self._fd, ring)

    def set(self, at_ns: int) -> None:
        """Moves the alarm; this also makes the timer unreadable again, so that it never has to be read."""
        self._spec.value_s, self._spec.value_ns = divmod(at_ns, NS_PER_S)
        self._settime(self._fd, _TFD_TIMER_ABSTIME, self._spec_pointer, None)

    def close(self) -> None:
        """Takes the timer off the loop and closes it."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)


class LoopAlarm:
    """An alarm made of the loop's own timer: late by up to a millisecond."""

    __slots__ = ("_handle", "_loop", "_ring")

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, at_ns: int) -> None:
        """Moves the alarm."""
        self.close()
        # The loops refuse delays of years; an hour too early is only one more look at the clock.
        delay_s = min(max(0, at_ns - time.monotonic_ns()) / NS_PER_S, 3600.0)
        self._handle = self._loop.call_later(delay_s, self._ring)

    def close(self) -> None:
        """Takes the alarm off the loop."""
        if self._handle is not None:
            self._handle.cancel()
