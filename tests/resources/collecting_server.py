"""Collects garbage for 300 ms again and again: `collecting_server.py PORT`. `/` answers after 12 to 28 ms."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time

from aiohttp import web

from servers.stats import Gauge


class Dear:
    """Garbage that takes its time: its finalizer runs within the collection."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            pass


async def collect_again_and_again() -> None:
    while True:
        await asyncio.sleep(0.5)
        Dear()
        gc.collect()


async def main() -> None:
    gauge = Gauge.from_environment()

    async def work(_: web.Request) -> web.Response:
        with gauge:
            await asyncio.sleep(random.uniform(0.012, 0.028))
            return web.Response(text="ok")

    gc.disable()
    app = web.Application()
    app.router.add_get("/", work)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(sys.argv[1]), backlog=1024).start()
    gauge.announce()
    await collect_again_and_again()


asyncio.run(main())
