"""When bytes arrived at this machine, which is before they were read: the kernel's own receive time stamp."""

from __future__ import annotations

import socket
import struct
import sys
import time

from servers.calibrated.settings import NS_PER_S

# SO_TIMESTAMPNS of Linux on the architectures of asm-generic; Python 3.11 does not name it.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("qq")
ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size) if hasattr(socket, "CMSG_SPACE") else 0
"""Room for the stamp beside what is read."""
_SAME_MOMENT_NS = 20_000


def stamp_arrivals(listener: socket.socket) -> bool:
    """Makes the kernel stamp what arrives on the sockets accepted from this one; returns whether it does."""
    if sys.platform != "linux" or not ANCILLARY_BYTES:
        return False
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def ago_ns(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, int]:
    """The monotonic clock, and how long before that what came with this stamp had arrived; both in ns."""
    seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
    # The stamp is of the wall clock. Only how long ago it was is taken: setting the clock then does no harm.
    now_ns, wall_ns = _both_clocks()
    return now_ns, max(0, wall_ns - seconds * NS_PER_S - nanoseconds)


def _both_clocks() -> tuple[int, int]:
    """The monotonic and the wall clock at the same moment, in ns: read again where something came between them."""
    while True:
        before_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        after_ns = time.monotonic_ns()
        if after_ns - before_ns < _SAME_MOMENT_NS:
            return after_ns, wall_ns
