"""A file of targets: one request a line, as text or as JSON.

    GET /json                     method and path, or URL
    /cpu?steps=1000 3             path and weight
    POST http://127.0.0.1:8080/orders 2
    {"url": "/orders", "method": "POST", "headers": {"X-Id": "{uuid}"}, "body": "{\\"n\\": {seq}}", "weight": 2}

Blank lines and lines that begin with # are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loadgen.errors import UsageError
from loadgen.plan import Header, Share, Target, parse_header

_TEXT: Final = "write GET /path, /path or a URL, then a weight if it has one, or an object of JSON"
_MOST_SHOWN: Final = 80
"""Characters of a line that is not accepted: enough to know it by, and it may be a file without line ends."""
_KEYS: Final = ("url", "method", "headers", "body", "weight")


@dataclass(frozen=True, slots=True)
class _Line:
    """What one line asks for; None where it says nothing."""

    url: str
    weight: int = 1
    method: str | None = None
    headers: tuple[Header, ...] = ()
    body: bytes = b""


MakeTarget = Callable[[str, str | None, tuple[Header, ...], bytes], Target]
"""From URL, method, headers and body of a line, to the target with what the options say beside them."""


def read_targets(path: Path, origin: str | None, make_target: MakeTarget) -> tuple[Share, ...]:
    """The targets of a file. `origin`, such as http://127.0.0.1:8080, is what paths belong to, and whom all must be at;
    where it is None, that is the server of the first line.

    Raises:
        UsageError: it cannot be read, has no target, or has a line that is not accepted, with its number.
    """
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    except OSError as error:
        raise UsageError(f"--targets {path}: {error.strerror}; name a file that can be read") from None
    shares: list[Share] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            asked = _from_json(line) if line.lstrip().startswith("{") else _from_text(line)
            if asked.url.startswith("/"):
                if origin is None:
                    raise UsageError(f"{asked.url} is of no server: give the URL of one too, or write whole URLs")
                asked_url = origin + asked.url
            else:
                asked_url = asked.url
            target = make_target(asked_url, asked.method, asked.headers, asked.body)
            shares.append(Share(target, asked.weight))
        except UsageError as error:
            raise UsageError(f"{path} line {number}: {error}") from None
        origin = origin or target.origin
        if target.origin != origin:
            raise UsageError(
                f"{path} line {number}: {target.url} is at another server than {origin}: all must be at one"
            )
    if not shares:
        raise UsageError(f"--targets {path}: there is no target in it; {_TEXT}")
    return tuple(shares)


def _from_text(line: str) -> _Line:
    words = line.split()
    method = None if _is_place(words[0]) else words.pop(0)
    if not words or len(words) > 2 or not _is_place(words[0]):
        raise UsageError(f"{_shown(line.strip())} is not accepted: {_TEXT}")
    if len(words) == 1:
        return _Line(words[0], method=method)
    if not (words[1].isascii() and words[1].isdigit() and len(words[1]) < 9):
        raise UsageError(f"weight {_shown(words[1])} is not accepted: it is a whole number from 1 on")
    return _Line(words[0], int(words[1]), method)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}...")


def _is_place(word: str) -> bool:
    return word.startswith("/") or "://" in word


def _from_json(line: str) -> _Line:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is not JSON: {getattr(error, 'msg', error)}") from None
    if unknown := [key for key in data if key not in _KEYS]:
        raise UsageError(f"{_shown(unknown[0])} is not known: {', '.join(_KEYS)}")
    url = _text_at(data, "url")
    if url is None or not _is_place(url):
        raise UsageError("its url must be given, as a path that begins with / or a URL")
    weight = data.get("weight", 1)
    if not isinstance(weight, int) or isinstance(weight, bool):
        raise UsageError(f"weight {weight!r} is not accepted: it is a whole number from 1 on")
    body = _text_at(data, "body") or ""
    return _Line(url, weight, _text_at(data, "method"), _headers(data.get("headers", {})), body.encode())


def _text_at(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"its {key} must be a text in quotes")
    if value is not None and not _is_sendable(value):
        raise UsageError(f"its {key} holds half a character (\\ud800 to \\udfff)")
    return value


def _headers(data: object) -> tuple[Header, ...]:
    """From an object, or from a list of pairs where a name comes twice."""
    pairs = list(data.items()) if isinstance(data, dict) else data
    if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
        raise UsageError('its headers must be texts by their names, as in {"X-One": "1"}, or pairs of them in a list')
    return tuple(parse_header(f"{name}: {value}") for name, value in pairs)


def _is_pair(pair: object) -> bool:
    return (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(text, str) and _is_sendable(text) for text in pair)
        and ":" not in pair[0]
    )


def _is_sendable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
