"""Process groups: a server, its workers, and whatever these started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Final

_POLL_S: Final = 0.01
_KILL_TIMEOUT_S: Final = 2.0


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to every process of the group; False where there is none."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_group(group: int) -> None:
    """Kill every process of the group and return when none is left that could hold a port.

    Killed processes are not gone at once; and those whose parent is gone stay as zombies until process 1 collects them,
    which may take seconds in a container, so a zombie counts as gone.
    """
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    while signal_group(group, signal.SIGKILL) and _living(group) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _living(group: int) -> bool:
    import psutil  # only here: a server that stops as asked leaves nothing to look for

    for process in psutil.process_iter():
        # A process may end while it is looked at.
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False
