"""The child process of a crew: `python -m loadgen.distribute.worker DESCRIPTOR PARENT ENGINE`.

Reads orders from the pipe with that descriptor and answers each with a Part, until the pipe ends. Anything that comes
while an order is carried out means: stop, and hand over what there is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Final

from loadgen.distribute.shard import Order, Part, ShardRun, make_ready
from loadgen.entry import STOP_SIGNALS
from loadgen.errors import LoadgenError

_PR_SET_PDEATHSIG: Final = 1  # include/uapi/linux/prctl.h


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends. Linux only; elsewhere the end of the pipe does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the generator ended before its worker began")


def main() -> None:
    """Works until the pipe ends."""
    for number in STOP_SIGNALS:
        if number != signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)  # the generator says when to stop
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    die_with(parent)
    make_ready(sys.argv[3])
    with Connection(descriptor) as pipe:
        pipe.send(None)  # ready
        while True:
            try:
                order: Order | None = pipe.recv()
                if order is not None:  # else told to stop what had ended already
                    pipe.send(_answer(order, pipe))
            except (EOFError, OSError):  # the generator has gone
                return


def _answer(order: Order, pipe: Connection) -> Part | LoadgenError:
    try:
        return ShardRun(order).carry_out(stopped_by=pipe.fileno())
    except LoadgenError as error:
        return error


if __name__ == "__main__":
    main()
