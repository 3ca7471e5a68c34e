"""Whether a server that is starting answers yet."""

from __future__ import annotations

import contextlib
import http.client
from typing import Final
from urllib.parse import urlsplit

# Generous: the first request of a cold server, or a user's own ready path, may take its time.
_ASK_TIMEOUT_S: Final = 3.0


def not_ready(url: str, statuses: range) -> str | None:
    """What an http URL does instead of answering with one of the statuses, in words; None where it does answer so."""
    parts = urlsplit(url)
    try:
        with contextlib.closing(http.client.HTTPConnection(parts.netloc, timeout=_ASK_TIMEOUT_S)) as connection:
            path = parts._replace(scheme="", netloc="").geturl()
            connection.request("GET", path or "/", headers={"Connection": "close"})
            status = connection.getresponse().status
    except ConnectionRefusedError:
        return f"nobody listens on {parts.netloc}"
    except (OSError, http.client.HTTPException) as error:
        return f"{url} gives no answer: {error or type(error).__name__}"
    return None if status in statuses else f"{url} answers {status}"
