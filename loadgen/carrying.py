"""What carrying out a run needs of the process that does it: an event loop, and no garbage collection."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_COLLECT_S: Final = 1.0


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """A collection in mid-run would stand as a pause in every request that is in flight."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


async def collect_young() -> None:
    """Collects what has been made since the run began, so that one that lasts does not grow.

    The client libraries leave cycles behind: httpx 8 KB a request. Looked at every second, there are few objects.
    """
    while True:
        await asyncio.sleep(_COLLECT_S)
        gc.collect()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the event loop: uvloop, where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
