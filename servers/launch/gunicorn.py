"""The profiles `gthread` and `processes`: gunicorn with threaded or with plain workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from servers.launch.arguments import parse
from servers.ports import bracketed
from servers.wsgi import create_app

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication


class _Application(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn with exactly these settings: unlike its command line, it reads no gunicorn.conf.py and no variables."""

    def __init__(self, settings: dict[str, object]) -> None:
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        return create_app()


def main() -> None:
    """Serve until terminated."""
    arguments = parse(["workers", "backlog"], optional=["threads"])
    settings: dict[str, object] = {
        "bind": f"{bracketed(arguments.host)}:{arguments.port}",
        "workers": arguments.workers,
        "backlog": arguments.backlog,
        "worker_class": "sync",
        "loglevel": "warning",
        # A worker busy with one long request is not a dead worker.
        "timeout": 0,
        "graceful_timeout": 1,
        "control_socket_disable": True,
    }
    if arguments.threads is not None:
        # The default of 1000 connections and of 2 s would be limits beside the one that the profile names.
        settings |= {
            "worker_class": "gthread",
            "threads": arguments.threads,
            "worker_connections": arguments.threads + 65_536,
            "keepalive": 75,
        }
    _Application(settings).run()


if __name__ == "__main__":
    main()
