"""What a profile is: a server with knobs, a command, and a limit that is known. The profiles are in `table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from servers.builds import Build
    from servers.runtimes import Runtime

Value: TypeAlias = int | bool | str | None
Values: TypeAlias = Mapping[str, Value]
"""A value for each knob of a profile, by the knob's name."""

LIMIT_NOT_KNOWN: Final = "limit not known"
READY_TIMEOUT_S: Final = 30.0


class Kind(Protocol):
    """The kind of values that a knob takes."""

    @property
    def accepts(self) -> str:
        """What is accepted, as an error message names it: 'a whole number from 1 to 64'."""

    def read(self, text: str) -> Value:
        """The value that `text` stands for.

        Raises:
            ValueError: it stands for none.
        """


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers from `low` to `high`; with `optional`, also `none`."""

    low: int
    high: int
    optional: bool = False

    @property
    def accepts(self) -> str:
        """See `Kind`."""
        return f"a whole number from {self.low} to {self.high}{', or none' if self.optional else ''}"

    def read(self, text: str) -> int | None:
        """See `Kind`."""
        if self.optional and text == "none":
            return None
        # int() alone would also take '1_000', ' 5' and other scripts' digits.
        if text.isascii() and text.isdigit() and len(text) <= 12 and self.low <= int(text) <= self.high:
            return int(text)
        raise ValueError(text)


@dataclass(frozen=True, slots=True)
class Flag:
    """True and false, as words or as 1 and 0."""

    @property
    def accepts(self) -> str:
        """See `Kind`."""
        return "true or false"

    def read(self, text: str) -> bool:
        """See `Kind`."""
        words = {"true": True, "1": True, "false": False, "0": False}
        if text not in words:
            raise ValueError(text)
        return words[text]


@dataclass(frozen=True, slots=True)
class Text:
    """Any line of text but the empty one. A spec has a comma after it, and so it cannot hold one there."""

    @property
    def accepts(self) -> str:
        """See `Kind`."""
        return "a line of text, without a comma"

    def read(self, text: str) -> str:
        """See `Kind`."""
        if not text or not text.isprintable():
            raise ValueError(text)
        return text


@dataclass(frozen=True, slots=True)
class Pause:
    """`P/Q`: every P milliseconds, stand still for Q; or `none`, which is kept as the empty string."""

    @property
    def accepts(self) -> str:
        """See `Kind`."""
        return "P/Q (every P ms stand still for Q ms, 1 <= Q < P <= 600000), or none"

    def read(self, text: str) -> str:
        """See `Kind`."""
        if text in ("", "none"):
            return ""
        period, _, pause = text.partition("/")
        milliseconds = Whole(1, 600_000)
        if milliseconds.read(pause) >= milliseconds.read(period):  # type: ignore[operator]  # not optional
            raise ValueError(text)
        return text


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting of a profile.

    Attributes:
        default: its value where a spec does not name it.
        meaning: what it is, in a few words.
        kind: which values it takes.
    """

    name: str
    default: Value
    meaning: str
    kind: Kind

    def option(self, value: Value) -> str:
        """The knob as a command-line option of the server: `--limit-concurrency=20`."""
        return f"--{self.name.replace('_', '-')}={spoken(value)}"


def spoken(value: Value) -> str:
    """A value as a spec writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value in (None, "") else str(value)


def limits_line(limits: str) -> str:
    """A profile's `limits` as a line of their own."""
    return limits if limits == LIMIT_NOT_KNOWN else f"limited by {limits}"


@dataclass(frozen=True, slots=True)
class Profile:
    """A server whose limits are known, or said not to be.

    Attributes:
        server: the library and the interface: 'waitress, WSGI'.
        limits: from the knobs' values, the words for what limits it: '200 threads'.
        concurrency_limit: from the knobs' values, how many requests it works on at once; None where nothing limits it.
        command: from the knobs' values, a host and a port, the command that serves there.
        option: how a knob that was given is printed as the server's argument.
        processes: from the knobs' values, how many processes announce themselves in the stats file when they are ready
            to serve; 0 for a server that knows nothing of that file.
        limit_known: whether `concurrency_limit` is to be believed; where it is not, its None means nothing.
        appended: from the values of the knobs that were given, the words that follow the command.
        ready: the path, or the http:// URL, that is asked; {host} and {port} in it are filled in.
        ready_statuses: the answers to that by which the server is ready.
        ready_timeout_s: how long it may take until then.
        environment: variables set in addition to the starter's; {host}, {port} and knobs in braces are filled in.
        directory: where the command runs; None for the starter's own.
        runtime: what must be on the machine beside this Python; `command` raises RuntimeMissing where it is not.
        build: how its program is built; the starter sees to that. None where it needs no building.
    """

    name: str
    server: str
    knobs: tuple[Knob, ...]
    limits: Callable[[Values], str]
    concurrency_limit: Callable[[Values], int | None]
    command: Callable[[Values, str, int], list[str]]
    option: Callable[[Knob, Value], str] = Knob.option
    processes: Callable[[Values], int] = lambda _: 0
    limit_known: bool = True
    appended: Callable[[Values], list[str]] = lambda _: []
    ready: str = "/stats"
    ready_statuses: range = range(200, 201)
    ready_timeout_s: float = READY_TIMEOUT_S
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    runtime: Runtime | None = None
    build: Build | None = None

    def knob(self, name: str) -> Knob | None:
        """The knob of that name, if it has one."""
        return next((knob for knob in self.knobs if knob.name == name), None)
