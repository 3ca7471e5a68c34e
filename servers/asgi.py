"""The ASGI applications: one table of routes, with coroutines as handlers or with plain functions."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeAlias

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from servers.errors import RequestError
from servers.stats import Gauge
from servers.waiting import Awaiting, Blocking
from servers.work import (
    ENDPOINTS,
    LOOKS,
    METHODS,
    Endpoint,
    Reply,
    look_reply,
    method_not_allowed,
    not_found,
    refusal,
)

_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})

Handler: TypeAlias = Callable[[Request], Response] | Callable[[Request], Awaitable[Response]]


def create_async_app() -> Starlette:
    """The application with an `async def` handler for each endpoint: it waits on the event loop."""
    gauge = Gauge.from_environment()
    awaiting = Awaiting(gauge)

    def handler(endpoint: Endpoint) -> Handler:
        async def handle(request: Request) -> Response:
            await _drain(request)
            return _response(await awaiting.serve(endpoint, _query(request)))

        return handle

    return _create_app(gauge, handler, tokens=None)


def create_threadpool_app(tokens: int) -> Starlette:
    """The application with a plain `def` handler for each endpoint: Starlette runs it on one of `tokens` threads."""
    gauge = Gauge.from_environment()
    blocking = Blocking(gauge)

    def handler(endpoint: Endpoint) -> Handler:
        def handle(request: Request) -> Response:
            return _response(blocking.serve(endpoint, _query(request)))

        return handle

    return _create_app(gauge, handler, tokens=tokens)


def _create_app(gauge: Gauge, handler: Callable[[Endpoint], Handler], tokens: int | None) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if tokens is not None:
            anyio.to_thread.current_default_thread_limiter().total_tokens = tokens
        gauge.announce()
        yield

    # Always a coroutine: it must answer while every thread is taken.
    async def look(request: Request) -> Response:
        return _response(look_reply(request.scope["path"], gauge.read(), gauge.waiting, _query(request)))

    async def refuse(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return _response(refusal(error))

    async def refuse_path(_: Request, __: Exception) -> Response:
        return _response(refusal(not_found()))

    async def refuse_method(_: Request, __: Exception) -> Response:
        return _response(refusal(method_not_allowed()))

    methods = list(METHODS)
    app = Starlette(
        routes=[
            *(Route(path, handler(endpoint), methods=methods) for path, endpoint in ENDPOINTS.items()),
            *(Route(path, look, methods=methods) for path in LOOKS),
        ],
        exception_handlers={RequestError: refuse, 404: refuse_path, 405: refuse_method},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


async def _drain(request: Request) -> None:
    """Read the request's body to its end: granian drops the connection of a client that still writes."""
    if any(name in _BODY_HEADERS for name, _ in request.scope["headers"]):
        async for _ in request.stream():
            pass


def _query(request: Request) -> str:
    # As the server gave it: building `request.url` costs more than the rest of a short answer.
    query: bytes = request.scope["query_string"]
    return query.decode("latin-1")


def _response(reply: Reply) -> Response:
    # Content-Type as a header, not as media type: to the latter Starlette adds a charset of its own.
    return Response(reply.body, reply.status, {"Content-Type": reply.content_type, **dict(reply.headers)})
