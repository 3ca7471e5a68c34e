"""What carrying out a run needs of the process that does it: an event loop, and no garbage collection."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """A collection in mid-run would stand as a pause in every request that is in flight."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the event loop: uvloop, where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
