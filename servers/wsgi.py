"""The WSGI application: the same for waitress, gunicorn and gevent."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from servers.errors import RequestError
from servers.stats import Gauge
from servers.waiting import Blocking
from servers.work import Reply, find, look_reply, refusal

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_CHUNK: Final = 65_536


def create_app(gauge: Gauge | None = None) -> WSGIApplication:
    """The application of one server process. To be called in the process that serves, after any fork or patching."""
    counted = gauge or Gauge.from_environment()
    blocking = Blocking(counted)
    counted.announce()

    def reply_to(environ: WSGIEnvironment) -> Reply:
        query = environ.get("QUERY_STRING", "")
        path = environ["PATH_INFO"]
        endpoint = find(path, environ["REQUEST_METHOD"])
        _drain(environ)
        if endpoint is None:
            return look_reply(path, counted.read(), counted.waiting, query)
        return blocking.serve(endpoint, query)

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            reply = reply_to(environ)
        except RequestError as error:
            reply = refusal(error)
        start_response(
            f"{reply.status} {HTTPStatus(reply.status).phrase}",
            [("Content-Type", reply.content_type), ("Content-Length", str(len(reply.body))), *reply.headers],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [reply.body]

    return application


def _drain(environ: WSGIEnvironment) -> None:
    """Read the request's body to its end: an answer sent earlier may reset the connection of a client that writes."""
    if environ.get("CONTENT_LENGTH") in (None, "", "0") and "HTTP_TRANSFER_ENCODING" not in environ:
        return
    while environ["wsgi.input"].read(_CHUNK):
        pass
