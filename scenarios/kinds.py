"""The kinds of values that a scenario file holds, and a table of them, read key by key."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from loadgen.errors import UsageError
from loadgen.explain.finding import CAUSES
from loadgen.kernel import available_cpus
from loadgen.units import parse_duration, parse_whole_ms
from scenarios.errors import ScenarioError

T = TypeVar("T")

MOST: Final = 1_000_000
"""Of anything that is counted."""

_CPUS: Final = re.compile(r"(?:(\d{1,4}) *\* *)?cpus")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """The kind of values that a key takes.

    Attributes:
        accepts: as an error names it: 'true or false'.
        read: the value meant by what TOML gave; raises ValueError where it is not of the kind.
    """

    accepts: str
    read: Callable[[Any], T]


def _checked(value: Any, *types: type) -> Any:
    # In Python a bool is an int as well; in TOML it is not.
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(value)
    return value


def _text(value: Any) -> str:
    text = str(_checked(value, str)).strip()
    if not text:
        raise ValueError(value)
    return text


def _path(value: Any) -> str:
    path = _text(value)
    if not path.startswith("/") or any(not " " < letter < "\x7f" for letter in path):
        raise ValueError(value)
    return path


def _number(value: Any) -> float:
    number = float(_checked(value, int, float))
    if not 0 <= number < math.inf:
        raise ValueError(value)
    return number


def _numbers(value: Any) -> tuple[float, ...]:
    return tuple(map(_number, value)) if isinstance(value, list) else (_number(value),)


def _count(value: Any) -> int:
    if isinstance(value, str) and (match := _CPUS.fullmatch(value.strip())):
        value = int(match[1] or 1) * available_cpus()
    if not 1 <= _checked(value, int) <= MOST:
        raise ValueError(value)
    return int(value)


def _counts(value: Any) -> tuple[int, ...]:
    counts = tuple(map(_count, value)) if isinstance(value, list) else (_count(value),)
    if not counts:
        raise ValueError(value)
    return tuple(dict.fromkeys(counts))


def _causes(value: Any) -> tuple[str, ...]:
    causes = tuple(value) if isinstance(value, list) else (value,)
    if not causes or any(cause not in CAUSES for cause in causes):
        raise ValueError(value)
    return causes


def _words(accepted: tuple[str, ...]) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        words = tuple(_checked(value, list))
        if any(word not in accepted for word in words):
            raise ValueError(value)
        return words

    return read


def _duration(value: Any) -> float:
    try:
        return parse_duration(_checked(value, str))
    except UsageError as error:
        raise ValueError(value) from error


def _whole_ms(value: Any) -> int:
    try:
        return parse_whole_ms("", _checked(value, str))
    except UsageError as error:
        raise ValueError(value) from error


def whole(low: int, high: int = MOST) -> Kind[int]:
    """Whole numbers between these, which are accepted too."""

    def read(value: Any) -> int:
        if not low <= _checked(value, int) <= high:
            raise ValueError(value)
        return int(value)

    return Kind(f"a whole number from {low} to {high}", read)


def any_of(*words: str) -> Kind[tuple[str, ...]]:
    """Lists of these words."""
    return Kind(f"a list of {', '.join(words)}", _words(words))


_A_COUNT: Final = f"a whole number from 1 to {MOST}, 'cpus' or '2 * cpus'"

TEXT: Final = Kind("a text", _text)
PATH: Final = Kind("a path that begins with /, percent-encoded", _path)
FLAG: Final = Kind("true or false", lambda value: bool(_checked(value, bool)))
NUMBER: Final = Kind("a number from 0", _number)
NUMBERS: Final = Kind("a number from 0, or a list of them", _numbers)
COUNT: Final = Kind(_A_COUNT, _count)
COUNTS: Final = Kind(f"{_A_COUNT}, or a list of these", _counts)
CAUSE: Final = Kind(f"a cause or a list of causes: {', '.join(CAUSES)}", _causes)
DURATION: Final = Kind("a duration, as in '60s' or '500ms'", _duration)
WHOLE_MS: Final = Kind("a duration of whole milliseconds from 1ms, as in '1500ms' or '2s'", _whole_ms)


class Table:
    """A table of a TOML file. What is not asked of it by the time it is closed is not accepted."""

    def __init__(self, file: str, name: str, content: Any) -> None:
        """`name` is as messages have it: `load.profiles[2]`; empty for the file's own."""
        self._file, self._name = file, name
        if not isinstance(content, dict):
            raise self.refusal("", "a table", content)
        self._content: dict[str, Any] = content
        self._asked: list[str] = []

    def refusal(self, key: str, accepts: str, value: Any) -> ScenarioError:
        """The error for a key's value; without key, for the table's own."""
        where = ".".join(filter(None, (self._name, key)))
        return ScenarioError(f"{self._file}: {where} is {accepts}; not {_shown(value)}")

    def needed(self, key: str, kind: Kind[T]) -> T:
        """The value of a key that must be there.

        Raises:
            ScenarioError: it is not, or is not of the kind.
        """
        value = self.get(key, kind, None)
        if value is None:
            where = f" in {self._name}" if self._name else ""
            raise ScenarioError(f"{self._file}: {key} is missing{where}: {kind.accepts}")
        return value

    def get(self, key: str, kind: Kind[T], default: T | None) -> T | None:
        """The value of a key, or `default` where it is not there.

        Raises:
            ScenarioError: it is not of the kind.
        """
        self._asked.append(key)
        if key not in self._content:
            return default
        try:
            return kind.read(self._content[key])
        except ValueError:
            raise self.refusal(key, kind.accepts, self._content[key]) from None

    def given(self, key: str, kind: Kind[T], default: T) -> T:
        """As `get`, where there is a default."""
        value = self.get(key, kind, default)
        assert value is not None
        return value

    def table(self, key: str) -> Table | None:
        """The table of a key; None where it is not there."""
        self._asked.append(key)
        return Table(self._file, self._path(key), self._content[key]) if key in self._content else None

    def tables(self, key: str) -> list[Table]:
        """The tables of a key that holds one or several; none where it is not there."""
        self._asked.append(key)
        content = self._content.get(key, [])
        if isinstance(content, dict):
            return [Table(self._file, self._path(key), content)]
        if not isinstance(content, list) or (key in self._content and not content):
            raise self.refusal(key, "a table, or a list of tables", content)
        return [Table(self._file, self._path(f"{key}[{number}]"), each) for number, each in enumerate(content, 1)]

    def keys(self) -> list[str]:
        """The keys that are there, in the file's order."""
        return list(self._content)

    def close(self) -> None:
        """To be called when all that is accepted has been asked for.

        Raises:
            ScenarioError: there is a key that is not accepted.
        """
        for key in self._content:
            if key not in self._asked:
                where = f" in {self._name}" if self._name else ""
                raise ScenarioError(
                    f"{self._file}: no key {key!r} is accepted{where}; keys: {', '.join(dict.fromkeys(self._asked))}"
                )

    def _path(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key


def _shown(value: Any) -> str:
    """A value on one short line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
