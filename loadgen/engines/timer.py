"""A descriptor that becomes readable at a moment: the kernel's timer, because event loops count in milliseconds."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import sys
from time import perf_counter_ns
from typing import Final, Protocol

_CLOCK_MONOTONIC: Final = 1  # what perf_counter_ns reads on Linux
_ABSOLUTE: Final = 1  # TFD_TIMER_ABSTIME, include/uapi/linux/timerfd.h
_NS_PER_S: Final = 1_000_000_000


class Timer(Protocol):
    """Wakes whoever watches its descriptor."""

    def fileno(self) -> int:
        """Readable once the moment has come, until the next `set` or `clear`."""

    def set(self, at_ns: int) -> None:
        """Wakes at this reading of perf_counter_ns; at once where that is past."""

    def clear(self) -> None:
        """Wakes no more."""

    def close(self) -> None:
        """Frees the descriptor."""


def make_timer() -> Timer:
    """The platform's timer. For use in a running event loop.

    Raises:
        OSError: there is no descriptor left for it.
    """
    return KernelTimer() if sys.platform == "linux" else LoopTimer()


class KernelTimer:
    """A timerfd: exact to some tens of microseconds."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        # The flags of timerfd_create are those of open (TFD_NONBLOCK is O_NONBLOCK).
        self._fd: int = libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        self._settime = libc.timerfd_settime
        self._settime.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        # struct itimerspec: interval, value; each seconds and nanoseconds.
        self._spec = (ctypes.c_long * 4)()
        self._address = ctypes.addressof(self._spec)

    def fileno(self) -> int:
        """See `Timer`."""
        return self._fd

    def set(self, at_ns: int) -> None:
        """See `Timer`."""
        self._spec[2], self._spec[3] = divmod(max(at_ns, 1), _NS_PER_S)
        self._settime(self._fd, _ABSOLUTE, self._address, None)

    def clear(self) -> None:
        """See `Timer`."""
        self._spec[2] = self._spec[3] = 0
        self._settime(self._fd, 0, self._address, None)

    def close(self) -> None:
        """See `Timer`."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class LoopTimer:
    """The same over the event loop's own timer, for systems without timerfd: exact to a millisecond or so."""

    def __init__(self) -> None:
        self._reads, self._writes = socket.socketpair()
        self._reads.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None

    def fileno(self) -> int:
        """See `Timer`."""
        return self._reads.fileno()

    def set(self, at_ns: int) -> None:
        """See `Timer`."""
        self.clear()
        self._handle = self._loop.call_later(max(at_ns - perf_counter_ns(), 0) / _NS_PER_S, self._writes.send, b"!")

    def clear(self) -> None:
        """See `Timer`."""
        if self._handle is not None:
            self._handle.cancel()
        with contextlib.suppress(BlockingIOError):
            self._reads.recv(16)

    def close(self) -> None:
        """See `Timer`."""
        self.clear()
        self._reads.close()
        self._writes.close()


class Alarm:
    """Lets one coroutine wait for a moment, as exactly as the platform can. A context manager, in a running loop."""

    def __init__(self) -> None:
        self._timer = make_timer()
        self._loop = asyncio.get_running_loop()
        self._rings = asyncio.Event()
        self._loop.add_reader(self._timer.fileno(), self._ring)

    def __enter__(self) -> Alarm:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._loop.remove_reader(self._timer.fileno())
        self._timer.close()

    def _ring(self) -> None:
        self._timer.clear()
        self._rings.set()

    async def until(self, at_ns: int) -> None:
        """Returns at this reading of perf_counter_ns; without giving way to others where that is past."""
        while perf_counter_ns() < at_ns:
            self._rings.clear()
            self._timer.set(at_ns)
            await self._rings.wait()
