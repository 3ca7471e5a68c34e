"""What runs on a Dask worker. Its functions are sent by name: the worker has loadrig installed."""

from __future__ import annotations

import sys
from importlib.metadata import version
from time import perf_counter_ns
from typing import Final

from loadgen.distribute.shard import Order, Part, ShardRun, make_ready

_TOO_LATE_NS: Final = 1_000_000_000

_running: set[ShardRun] = set()
"""One, as long as the worker has one thread."""


class TooLateError(Exception):
    """The release has passed: the scheduler gave the order again, to a worker that took a lost one's place."""


__all__ = ["TooLateError", "carry_out", "make_ready", "stop", "versions"]


def versions() -> tuple[str, str]:
    """loadrig's version and Python's."""
    return version("loadrig"), f"{sys.version_info.major}.{sys.version_info.minor}"


def carry_out(order: Order) -> Part:
    """Carries an order out, in a worker's thread.

    Raises:
        TooLateError: its release has passed.
        UsageError: the engine cannot send this request at all.
    """
    if perf_counter_ns() > order.release_at_ns + _TOO_LATE_NS:
        raise TooLateError
    run = ShardRun(order)
    _running.add(run)
    try:
        return run.carry_out()
    finally:
        _running.discard(run)


def stop() -> None:
    """Ends what is carried out in this process."""
    for run in list(_running):
        run.stop()
