"""What is secret, and is left out of everything that is written: values by the names that go before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loadgen.errors import UsageError

REDACTED: Final = "(redacted)"

_SECRET: Final = re.compile(r"auth|cookie|token|secret|password|api-?key|session", re.IGNORECASE)
"""Names of headers whose values do not leave this process, named or not."""
_HEADER_OPTIONS: Final = ("-H", "--header")
_NAME: Final = re.compile(r"[\w.~!#$%^*+|-]+")
_VALUE: Final = r"""("(?:\\.|[^"\\])*"|'[^']*'|[^&"'\s,;}#]+)"""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Leaves out the values of secret headers, and whatever else has one of `names`, case aside."""

    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.names:
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"--redact {name!r} is not accepted: it takes the name of a header, a query parameter or a field,"
                    " as in X-Customer or token"
                )

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[list[str]]:
        """Names and values of headers."""
        return [[name, REDACTED if self._hides(name) else self.text(value)] for name, value in headers]

    def text(self, text: str) -> str:
        """A text, such as a URL, a command or a body: the values in `name=value`, `"name": "value"`, `--name value`."""
        for name in map(re.escape, self.names):
            text = re.sub(rf"(?i)(?<![\w-])(-*{name}[\"']?\s*[=:]\s*){_VALUE}", rf"\g<1>{REDACTED}", text)
            text = re.sub(rf"(?i)(--{name}\s+){_VALUE}", rf"\g<1>{REDACTED}", text)
        return text

    def command(self, words: Sequence[str]) -> list[str]:
        """A command line of ours."""
        return list(self._words(words))

    def data(self, value: Any) -> Any:
        """Plain data, as `json.dump` takes it: every text in it."""
        if not self.names:
            return value
        if isinstance(value, dict):
            return {key: self.data(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.data(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _words(self, words: Sequence[str]) -> Iterator[str]:
        before = ""
        for word in words:
            if before in _HEADER_OPTIONS:
                yield self._header(word)
            elif word.startswith("--header="):
                yield f"--header={self._header(word.removeprefix('--header='))}"
            elif word.startswith("-H"):
                yield f"-H{self._header(word.removeprefix('-H'))}"
            elif before.removeprefix("--") in self.names and before.startswith("--"):
                yield REDACTED
            else:
                yield self.text(word)
            before = word

    def _header(self, line: str) -> str:
        name, colon, _ = line.partition(":")
        return f"{name}: {REDACTED}" if colon and self._hides(name) else self.text(line)

    def _hides(self, header: str) -> bool:
        name = header.strip().lower()
        return bool(_SECRET.search(name)) or name in (given.lower() for given in self.names)
