"""A table of a TOML file, read key by key; each mistake is one line: file, key, what is accepted, what stands there."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from servers.catalog import guess
from servers.errors import UsageError
from servers.template import placeholders


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a file.

    Attributes:
        file: as messages name it.
        key: where in the file it stands, dotted; empty for the whole file.
    """

    file: Path
    key: str
    content: Mapping[str, object]

    def accept(self, keys: Collection[str]) -> None:
        """See that it has no other keys.

        Raises:
            UsageError: it has.
        """
        for key in self.content:
            if key not in keys:
                self.fail(key, f"is no key here{guess(key, keys)}; accepted: {', '.join(keys)}")

    def table(self, key: str) -> Table:
        """The table at a key; an empty one where the key is not given."""
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            self.refuse(key, "a table")
        return self.with_table(key, value)

    def with_table(self, key: str, content: Mapping[str, object]) -> Table:
        """`content` as if it were the table at a key."""
        return Table(self.file, self._dotted(key), content)

    def text(self, key: str, default: str) -> str:
        """The text at a key, which may not be empty."""
        value = self.content.get(key, default)
        if not isinstance(value, str) or (not value and key in self.content):
            self.refuse(key, "text")
        return value

    def whole(self, key: str, default: int, maximum: int) -> int:
        """The whole number from 0 to `maximum` at a key."""
        value = self.content.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
            self.refuse(key, f"a whole number from 0 to {maximum}")
        return value

    def words(self, key: str) -> list[str]:
        """The words at a key: a text, split as a shell would, or a list of texts."""
        value = self.content.get(key)
        if isinstance(value, list) and value and all(isinstance(word, str) and word for word in value):
            return value
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, "text that is not empty, or a list of such")
        try:
            return shlex.split(value)
        except ValueError as error:
            self.fail(key, f"cannot be split as a shell would: {str(error).lower()}, in {_shown(value)}")

    def check_template(self, key: str, text: str, names: Collection[str]) -> list[str]:
        """The placeholders in a text of this table, which may be `names` alone."""
        try:
            found = placeholders(text)
        except ValueError:
            self.fail(key, f"has a brace that is no placeholder, in {text!a}: a name in braces, or {{{{ for a brace")
        for name in found:
            if name not in names:
                known = " ".join(f"{{{name}}}" for name in names) or "none"
                self.fail(key, f"has the unknown placeholder {{{name}}}{guess(name, names)}; accepted: {known}")
        return found

    def refuse(self, key: str, accepted: str) -> NoReturn:
        """Say what is accepted at a key, and what stands there."""
        if key not in self.content:
            self.fail(key, f"is missing; accepted: {accepted}")
        self.fail(key, f"is {accepted}, not {_shown(self.content[key])}")

    def fail(self, key: str, what: str) -> NoReturn:
        """Raise a UsageError that names file and key."""
        raise UsageError(f"{self.file}: {self._dotted(key)} {what}")

    def _dotted(self, key: str) -> str:
        shown = key if key.isprintable() else ascii(key)
        return f"{self.key}.{shown}" if self.key else shown


def _shown(value: object) -> str:
    """A value as a file would write it, if that is short."""
    text = str(value).lower() if isinstance(value, bool) else ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
