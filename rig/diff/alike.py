"""Were two results measured alike? What differs in environment and plan, a line each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

_OF_THE_MOMENT: Final = {
    "available", "command", "commit", "clean", "git", "load", "time",
}  # fmt: skip
"""Keys of an environment that differ from one measurement to the next, or for which two of them are compared."""

_NOT_OF_ONE_RUN: Final = {"runs", "objectives"}
"""Keys of a plan that change no run of it."""


def environment_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    """`environment: cpus is 2 in A, 4 in B`. What only one side knows is not held to differ."""
    before, after = dict(_flat(a)), dict(_flat(b))
    for key, value in before.items():
        if key in after and after[key] != value and _OF_THE_MOMENT.isdisjoint(key.split(".")):
            yield f"environment: {_differs(key, value, after[key])}"


def plan_differences(profile: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    """`plan of async: requests is 400 in A, 200 in B`. The port, any free one where rig serves, is no difference."""
    before, after = (dict(_flat(_without_port(plan) if profile else plan)) for plan in (a, b))
    for key, value in before.items():
        if key in after and after[key] != value and key not in _NOT_OF_ONE_RUN:
            yield f"plan{f' of {profile}' if profile else ''}: {_differs(key, value, after[key])}"


def _differs(key: str, a: Any, b: Any) -> str:
    return f"{key} is {_shown(a)} in A, {_shown(b)} in B"


def _shown(value: Any) -> str:
    return "n/a" if value is None else str(value)


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested objects by dotted names."""
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{before}{key}.")
        else:
            yield f"{before}{key}", inner


def _without_port(value: Any) -> Any:
    """The same with every `url` bare of its port."""
    if isinstance(value, list):
        return [_without_port(inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    return {key: _bare(inner) if key == "url" else _without_port(inner) for key, inner in value.items()}


def _bare(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.hostname or "").geturl()
