"""The server's own figures, as the Server-Timing header has them (https://www.w3.org/TR/server-timing/). Text in,
durations out.

    Server-Timing: acquire;dur=12.3, work;dur=100.1;desc="the query"

A field is a list of metrics: a name, then parameters, of which `dur` is a duration in milliseconds. What is malformed
is left out, and so is a metric without a duration: missing is not 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

MOST_NAMES: Final = 8
"""Metrics that a run keeps; further names are ignored."""
MOST_CHARACTERS: Final = 8192
"""Of a field; a longer one is ignored as a whole."""
_MOST_MS: Final = 86_400_000.0

# Both end where the text does, so neither looks at a character twice. A quote that is not closed reaches to the end.
_METRICS: Final = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+')
_PARTS: Final = re.compile(r'(?:[^";]|"(?:[^"\\]|\\.)*"?)+')
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}")  # a token (RFC 9110, 5.6.2), of bounded size
_DURATION: Final = re.compile(r'("?)(\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})([eE][+-]?\d{1,2})?\1')


def durations_ns(fields: Iterable[str]) -> dict[str, int]:
    """The durations of a response's Server-Timing fields by metric name, in ns.

    Of a metric that comes more than once, as one for each of several queries may, the sum.
    """
    found: dict[str, int] = {}
    for field in fields:
        if len(field) > MOST_CHARACTERS:
            continue
        for metric in _METRICS.findall(field):
            name, *parameters = (part.strip(" \t") for part in _PARTS.findall(metric) or ("",))
            duration_ns = _duration_ns(parameters)
            if duration_ns is not None and is_metric_name(name):
                found[name] = found.get(name, 0) + duration_ns
    return found


def is_metric_name(name: str) -> bool:
    """Whether a metric may be called so."""
    return _NAME.fullmatch(name) is not None


def _duration_ns(parameters: Iterable[str]) -> int | None:
    """The value of the first `dur`, which is the one that counts; None where it is not a duration of at most a day."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.rstrip(" \t").lower() == "dur":
            match = _DURATION.fullmatch(value.lstrip(" \t"))
            ms = float(match[2] + (match[3] or "")) if match else _MOST_MS + 1
            return round(ms * 1e6) if ms <= _MOST_MS else None
    return None
