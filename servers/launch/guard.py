"""Ties a server to its starter, lifts its descriptor limit, and becomes the server: `guard.py STARTER_PID COMMAND...`.

A program of its own, instead of a function run between fork and exec, because the starter may have threads, and because
servers in other languages need it too. Run by path and isolated (`python -I -S`), so it must import nothing but the
standard library, and little of that: it is on the way of each start.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with(starter: int) -> None:
    """Have the kernel send this process SIGTERM when its starter ends. Linux only; elsewhere nothing happens."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != starter:
        sys.exit("the starter ended before the server began")


def lift_descriptor_limit() -> None:
    """Raise the soft limit of open files to the hard one; as it was where the system refuses."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Become the command."""
    starter, command = int(sys.argv[1]), sys.argv[2:]
    die_with(starter)
    lift_descriptor_limit()
    try:
        os.execvp(command[0], command)
    except (OSError, ValueError) as error:  # the latter where its name is empty
        sys.exit(f"cannot run {command[0]}: {getattr(error, 'strerror', error)}")


if __name__ == "__main__":
    main()
