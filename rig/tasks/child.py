"""The process that carries out one executor's runs: `python -m rig.tasks.child WORK EXECUTOR`.

It reads a number of tasks a line, carries them out, and answers with one line of JSON. A process of its own, so that
each executor begins alike, none meets what another left behind, and all of it can be ended at any moment.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from time import perf_counter_ns
from typing import Any

from rig.tasks.carriers import Carrier, carrier_of
from rig.tasks.kinds import Kind
from rig.tasks.work import Work


def main() -> None:
    """Answers until there are no more lines."""
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))  # a pool's processes too
    work, kind = Work.parse(sys.argv[1]), Kind.parse(sys.argv[2])
    try:
        carrier = carrier_of(kind)
        carrier(Work("cpu", 1), 1)  # loads what it needs, which is no part of a run
        _answer("ready")
        for line in sys.stdin:
            _answer(json.dumps(_measured(carrier, work, int(line))))
    except Exception as error:
        # Not the usual way out, which would wait for the threads that could be started. A pool's processes, those that
        # could be, end too: they hold the pipe open by whose end the parent knows of this one's.
        os.write(2, f"{error or type(error).__name__}\n".encode())
        os.killpg(0, signal.SIGKILL)


def _answer(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _measured(carrier: Carrier, work: Work, tasks: int) -> dict[str, Any]:
    """One run: the times in ns from its release, CPU seconds, the sum of the results."""
    gc.collect()
    gc.disable()
    cpu_s = _cpu_s()
    release = perf_counter_ns()
    marks = carrier(work, tasks)
    wall_ns = perf_counter_ns() - release
    cpu_s = _cpu_s() - cpu_s
    gc.enable()
    return {
        "wall_ns": wall_ns,
        "cpu_s": cpu_s,
        "checksum": sum(mark.value for mark in marks),
        "due_ns": [mark.due - release for mark in marks],
        "begun_ns": [mark.begun - release for mark in marks],
        "done_ns": [mark.done - release for mark in marks],
    }


def _cpu_s() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in used)


if __name__ == "__main__":
    main()
