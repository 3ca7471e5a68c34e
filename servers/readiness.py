"""Whether a server that is starting answers yet, and which ready paths and URLs can be asked."""

from __future__ import annotations

import re
import socket
import time
from typing import Final
from urllib.parse import SplitResult, urlsplit

# Generous: the first request of a cold server, or a user's own ready path, may take its time.
_ASK_TIMEOUT_S: Final = 3.0
_MOST_HEADER_BYTES: Final = 65_536


def can_be_asked(ready: str) -> bool:
    """Whether this is a path, or an http:// URL with a host, that can stand in a request as it is."""
    if not re.fullmatch("[!-~]+", ready):
        return False
    if ready.startswith("/"):
        return True
    try:
        parts = urlsplit(ready)
        # The name as it is looked up: its parts may be neither empty nor long.
        host = (parts.hostname or "").encode("idna")
        return parts.scheme == "http" and host != b"" and parts.username is None and parts.port != 0
    except ValueError:
        return False


def not_ready(url: str, statuses: range) -> str | None:
    """What an http URL does instead of answering with one of the statuses, in words; None where it does answer so."""
    parts = urlsplit(url)
    try:
        header = _header(parts)
    except ConnectionRefusedError:
        return f"nobody listens on {parts.netloc}"
    except OSError as error:
        return f"{url} gives no answer: {error}"
    answer = re.match(rb"HTTP/\d\.\d (\d{3})\b", header)
    if answer is None:
        return f"{url} gives {'no HTTP' if header else 'no'} answer"
    status = int(answer[1])
    return None if status in statuses else f"{url} answers {status}"


def _header(parts: SplitResult) -> bytes:
    """What comes up to an empty line, or to the connection's end.

    Not by http.client, whose time limit begins anew with each byte: an answer that trickles in would hold the start up
    for ever.
    """
    deadline = time.monotonic() + _ASK_TIMEOUT_S
    target = parts._replace(scheme="", netloc="", fragment="").geturl()
    if not target.startswith("/"):  # none, or a query alone
        target = f"/{target}"
    asked = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
    header = b""
    with socket.create_connection((parts.hostname, parts.port or 80), _ASK_TIMEOUT_S) as connection:
        connection.sendall(asked.encode("ascii"))
        while not re.search(rb"\n\r?\n", header) and len(header) < _MOST_HEADER_BYTES:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("timed out")
            connection.settimeout(left_s)
            more = connection.recv(_MOST_HEADER_BYTES)
            if not more:
                break
            header += more
    return header
