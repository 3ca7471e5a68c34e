"""Placeholders in a request: `{seq}`, its number in the run, and `{uuid}`, a random one (RFC 9562, version 4).

`{{seq}}` and `{{uuid}}` stand for themselves with one pair of braces; all other braces are as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Final

_NAMES: Final = (b"seq", b"uuid")
_HOLE: Final = re.compile(rb"\{\{(?P<literal>seq|uuid)\}\}|\{(?P<name>seq|uuid)\}")
_TEXT_HOLE: Final = re.compile(r"(\{\{(?:seq|uuid)\}\}|\{(?:seq|uuid)\})")
_UUID_FIXED: Final = 0xF << 76 | 0x3 << 62
_UUID_V4: Final = 0x4 << 76 | 0x2 << 62

Values = tuple[bytes, bytes]
"""What stands for each of the placeholders in one request: the same wherever it occurs."""


class Template:
    """Bytes with placeholders in them."""

    __slots__ = ("_format", "_order", "longest")

    def __init__(self, data: bytes) -> None:
        self._order: list[int] = []
        """For each placeholder in turn, which of the values stands there."""
        parts: list[bytes] = []
        at = 0
        for match in _HOLE.finditer(data):
            parts.append(data[at : match.start()].replace(b"%", b"%%"))
            if match["literal"]:
                parts.append(b"{%b}" % match["literal"])
            else:
                parts.append(b"%b")
                self._order.append(_NAMES.index(match["name"]))
            at = match.end()
        parts.append(data[at:].replace(b"%", b"%%"))
        self._format = b"".join(parts)
        self.longest = len(self._format) + 36 * len(self._order)
        """Bytes that `fill` gives at most; a few more, where there are percent signs."""

    @property
    def varies(self) -> bool:
        """Whether there is a placeholder in it."""
        return bool(self._order)

    @property
    def has_uuid(self) -> bool:
        """Whether one of them is `{uuid}`."""
        return _NAMES.index(b"uuid") in self._order

    def fill(self, values: Values) -> bytes:
        """The bytes of one request."""
        return self._format % tuple([values[which] for which in self._order])


def keep_placeholders(text: str, encode: Callable[[str], str]) -> str:
    """Text encoded but for its placeholders; one that stands for itself is encoded as that."""
    parts = _TEXT_HOLE.split(text)
    for at, part in enumerate(parts):
        is_placeholder = at % 2 == 1 and not part.startswith("{{")
        parts[at] = part if is_placeholder else encode(part[1:-1] if at % 2 else part)
    return "".join(parts)


def make_uuids() -> Callable[[], bytes]:
    """What gives a new random UUID at each call. Seeded by the system: no two runs have the same ones."""
    random_bits = Random().getrandbits

    def new() -> bytes:
        digits = b"%032x" % (random_bits(128) & ~_UUID_FIXED | _UUID_V4)
        return b"-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    return new
