"""The application for aiohttp's own server: one handler, a coroutine, that waits on the event loop."""

from __future__ import annotations

from aiohttp import web

from servers.errors import RequestError
from servers.stats import Gauge
from servers.waiting import Awaiting
from servers.work import Reply, find, look_reply, refusal


async def create_app() -> web.Application:
    """The application of one server process."""
    gauge = Gauge.from_environment()
    awaiting = Awaiting(gauge)

    async def reply_to(request: web.Request) -> Reply:
        path, query = request.rel_url.raw_path, request.rel_url.raw_query_string
        endpoint = find(path, request.method)
        await _drain(request)
        if endpoint is None:
            return look_reply(path, gauge.read(), gauge.waiting, query)
        return await awaiting.serve(endpoint, query)

    async def handle(request: web.Request) -> web.Response:
        try:
            reply = await reply_to(request)
        except RequestError as error:
            reply = refusal(error)
        headers = {"Content-Type": reply.content_type, **dict(reply.headers)}
        return web.Response(body=reply.body, status=reply.status, headers=headers)

    async def announce(_: web.Application) -> None:
        gauge.announce()

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    app.on_startup.append(announce)
    return app


async def _drain(request: web.Request) -> None:
    """Read the request's body to its end, chunk by chunk: `request.read` refuses one above `client_max_size`."""
    if request.can_read_body:
        async for _ in request.content.iter_any():
            pass
