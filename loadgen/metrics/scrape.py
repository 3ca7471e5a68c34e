"""/metrics over HTTP, answered by a thread for as long as the command runs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

from loadgen.errors import UsageError
from loadgen.metrics.collector import RunMetrics
from loadgen.metrics.protobuf import CONTENT_TYPE, encode

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client import Metric

_HOST: Final = "127.0.0.1"


@contextmanager
def metrics_served(metrics: RunMetrics, port: int) -> Iterator[int]:
    """Serves /metrics on 127.0.0.1 within the block; gives the port, which is a free one for 0.

    Raises:
        UsageError: the port cannot be had.
    """
    try:
        server = make_server(_HOST, port, _application(metrics), handler_class=_Quiet)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "a port is a number from 0 to 65535"
        raise UsageError(f"--metrics-port {port}: {reason}; give a free port, or 0 for any") from None
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(WSGIRequestHandler):
    timeout = 5
    """Seconds for one that connects and says nothing: there is one thread for all."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the parent's name
        """Says nothing: stderr is the user's."""


def _application(metrics: RunMetrics) -> WSGIApplication:
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector

    class Now(Collector):
        def collect(self) -> Iterable[Metric]:
            return metrics.families()

    registry = CollectorRegistry()
    registry.register(Now())

    def answer(accept: str) -> tuple[bytes, str]:
        if "application/vnd.google.protobuf" in accept:
            return encode(metrics.families(native=True)), CONTENT_TYPE
        encoder, content_type = choose_encoder(accept)
        return encoder(registry), content_type

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/metrics":
            start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"paths here: /metrics\n"]
        body, content_type = answer(environ.get("HTTP_ACCEPT", ""))
        start_response("200 OK", [("Content-Type", content_type), ("Content-Length", str(len(body)))])
        return [body]

    return application
