"""The process that makes one number of threads, tasks or greenlets, once: `python -m rig.tasks.cost_child KIND COUNT`.

It answers with one line of JSON. A fresh process each time: memory that was given back may still be resident, and the
next measurement would find it there.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from time import perf_counter_ns

Look = Callable[[], None]
"""To be called when all have been made, stand, and wait."""


def main() -> None:
    """Makes them, and says what each took."""
    kind, count = sys.argv[1], int(sys.argv[2])
    make = _MAKERS[kind]
    try:
        make(1, lambda: None)  # loads what it needs
        sys.stdout.write(f"{json.dumps(_measured(make, count))}\n")
        sys.stdout.flush()
    except Exception as error:
        # Not the usual way out, which would wait for the threads that could be made.
        os.write(2, f"{error or type(error).__name__}\n".encode())
        os._exit(1)


def _measured(make: Callable[[int, Look], None], count: int) -> dict[str, int]:
    """Nanoseconds, and bytes of memory of its own and of address space, for all together."""
    import psutil

    process = psutil.Process()
    process.memory_full_info()
    gc.collect()
    gc.disable()
    before = process.memory_full_info()
    answer: dict[str, int] = {}
    begun = perf_counter_ns()

    def look() -> None:
        answer["ns"] = perf_counter_ns() - begun
        after = process.memory_full_info()
        answer["own_bytes"] = after.uss - before.uss
        answer["address_bytes"] = after.vms - before.vms

    make(count, look)
    return answer


def _threads(count: int, look: Look) -> None:
    import threading

    gate = threading.Lock()

    def wait() -> None:
        with gate:
            pass

    with gate:
        threads = [threading.Thread(target=wait) for _ in range(count)]
        for thread in threads:
            thread.start()  # returns when it runs
        look()
    for thread in threads:
        thread.join()


def _asyncio(count: int, look: Look) -> None:
    import asyncio

    async def hold() -> None:
        gate = asyncio.Event()
        tasks = [asyncio.create_task(gate.wait()) for _ in range(count)]
        await asyncio.sleep(0)  # each has come to its wait
        look()
        gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(hold())


def _greenlets(count: int, look: Look) -> None:
    import gevent  # type: ignore[import-untyped]
    from gevent.event import Event  # type: ignore[import-untyped]

    gate = Event()
    greenlets = [gevent.spawn(gate.wait) for _ in range(count)]
    gevent.sleep(0)
    look()
    gate.set()
    gevent.joinall(greenlets)


_MAKERS = {"threads": _threads, "asyncio": _asyncio, "greenlets": _greenlets}


if __name__ == "__main__":
    main()
