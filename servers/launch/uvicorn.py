"""The profiles `async` and `async-threadpool`: uvicorn."""

from __future__ import annotations

import uvicorn
from starlette.applications import Starlette

from servers.asgi import create_threadpool_app
from servers.launch.arguments import parse


def main() -> None:
    """Serve until terminated."""
    arguments = parse(["backlog"], optional=["workers", "limit_concurrency", "tokens"])
    # By name where there may be several workers: they are new interpreters, and an application cannot be sent to them.
    app: str | Starlette = "servers.asgi:create_async_app"
    if arguments.tokens is not None:
        app = create_threadpool_app(arguments.tokens)
    uvicorn.run(
        app,
        factory=isinstance(app, str),
        host=arguments.host,
        port=arguments.port,
        workers=arguments.workers or 1,
        backlog=arguments.backlog,
        limit_concurrency=arguments.limit_concurrency,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        # A warning for each request beyond limit_concurrency would cost more than the answer.
        log_level="error",
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
