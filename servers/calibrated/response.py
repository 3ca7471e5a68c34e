"""The bytes of a response."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus

from servers.work import Reply


def render(reply: Reply, *, connection: bytes = b"", head: bool = False) -> bytes:
    """Returns a whole HTTP/1.1 response.

    Args:
        reply: Status, headers and body; the body's length is declared.
        connection: The Connection header line with its line end; empty for none.
        head: Whether HEAD was asked: the headers as for GET, and no body.
    """
    lines = "".join([f"{name}: {value}\r\n" for name, value in reply.headers])
    return b"%sContent-Length: %d\r\n%s%s\r\n%s" % (
        _first_lines(reply.status, reply.content_type),
        len(reply.body),
        lines.encode("latin-1"),
        connection,
        b"" if head else reply.body,
    )


@lru_cache
def _first_lines(status: int, content_type: str) -> bytes:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {content_type}\r\n".encode()
