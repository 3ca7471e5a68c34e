"""A TOML file, read whole. What TOML leaves open is bounded here, once for all that read one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

_MOST_BYTES: Final = 1_000_000
_MOST_DEEP: Final = 20
_MOST_WHOLE: Final = 2**63 - 1
"""What every reader of TOML must take; Python's takes any number, and few have a use for those."""


def read_toml(file: Path) -> dict[str, Any]:
    """The file's content.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no TOML that is accepted; the message, one line to follow the file's name, says why.
    """
    with file.open("rb") as opened:  # a device, or the wrong file, may be endless
        content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"is too long: {_MOST_BYTES:,} bytes are accepted")
    try:
        table = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8, as TOML must be") from None
    except RecursionError:
        raise ValueError(_too_deep()) from None
    except ValueError as error:  # the message tells line and column, but for a number of thousands of digits
        raise ValueError(f"is no TOML: {error}") from None
    _check(table, 0)
    return table


def _check(value: object, depth: int) -> None:
    if depth > _MOST_DEEP:
        raise ValueError(_too_deep())
    match value:
        case dict():
            for key, each in value.items():
                _check(key, depth)
                _check(each, depth + 1)
        case list():
            for each in value:
                _check(each, depth + 1)
        case str() if "\0" in value:
            raise ValueError("holds the character NUL, which no command, variable or path can")
        case int() if abs(value) > _MOST_WHOLE:
            raise ValueError(f"holds a whole number above {_MOST_WHOLE}")


def _too_deep() -> str:
    return f"is nested too deeply: {_MOST_DEEP} tables and lists in each other are accepted"
