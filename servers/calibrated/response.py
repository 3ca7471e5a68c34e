"""The bytes of a response."""

from __future__ import annotations

from http import HTTPStatus

TEXT = b"text/plain; charset=utf-8"
JSON = b"application/json"


def render(
    status: int,
    body: bytes,
    *,
    content_type: bytes = TEXT,
    extra: bytes = b"",
    connection: bytes = b"",
    head: bool = False,
) -> bytes:
    """Returns a whole HTTP/1.1 response.

    Args:
        status: Status code.
        body: Body; its length is declared.
        content_type: Value of the Content-Type header.
        extra: Further header lines, each with its line end.
        connection: The Connection header line with its line end; empty for none.
        head: Whether HEAD was asked: the headers as for GET, and no body.
    """
    return b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s%s\r\n%s" % (
        status,
        HTTPStatus(status).phrase.encode(),
        content_type,
        len(body),
        extra,
        connection,
        b"" if head else body,
    )
