"""A command with placeholders, and the profile made of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from servers.errors import UsageError
from servers.profile import LIMIT_NOT_KNOWN, Profile, Values
from servers.readiness import can_be_asked
from servers.template import fill, placeholders

PLACES: Final = ("port", "host")
"""The placeholders that every command may have."""

NAMED_PATH: Final = range(200, 400)
"""Statuses by which a ready path that the user named says that the server is ready."""
ANY_ANSWER: Final = range(200, 500)
"""The same for `/`, asked where none was named: a 404 there is an answer of a server that is up."""


def filler(words: Sequence[str]) -> Callable[[Values, str, int], list[str]]:
    """A profile's `command` that fills the placeholders of each word."""

    def command(values: Values, host: str, port: int) -> list[str]:
        return [fill(word, values, host=host, port=port) for word in words]

    return command


def shown(command: object) -> str:
    """A command, a text or a list of words, as one line."""
    if not isinstance(command, list):
        return on_one_line(str(command))
    # shlex.join would put each placeholder in quotes.
    return on_one_line(" ".join(word if word.split() == [word] else shlex.quote(word) for word in command))


def on_one_line(text: str) -> str:
    """The text with each stretch of white space as one blank."""
    return " ".join(text.split())


def command_profiles(commands: Sequence[str], ready: str | None) -> list[Profile]:
    """A profile for each command that `--cmd` gives: `cmd`, `cmd-2` and so on.

    Raises:
        UsageError: one is no command, has other placeholders than {port} and {host}, or lacks {port}; or `ready` is no
            path.
    """
    if ready is not None and not (ready.startswith("/") and can_be_asked(ready)):
        raise UsageError(f"--ready {ready!r} is not accepted: it is a path, begins with /, and is percent-encoded")
    if ready is not None and not commands:
        raise UsageError("--ready is about the servers of --cmd, and there is none")
    return [
        Profile(
            name="cmd" if number == 1 else f"cmd-{number}",
            server=shown(command),
            knobs=(),
            limits=lambda _: LIMIT_NOT_KNOWN,
            concurrency_limit=lambda _: None,
            limit_known=False,
            command=filler(_words(command)),
            ready=(ready or "/").replace("{", "{{").replace("}", "}}"),
            ready_statuses=ANY_ANSWER if ready is None else NAMED_PATH,
        )
        for number, command in enumerate(commands, start=1)
    ]


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
        names = [name for word in words for name in placeholders(word)]
    except ValueError:
        raise UsageError(
            f"--cmd {command!r} is no command: quotes and braces must be closed, and a brace itself is {{{{ or }}}}"
        ) from None
    unknown = next((name for name in names if name not in PLACES), None)
    if unknown is not None:
        raise UsageError(f"--cmd {command!r} has the unknown placeholder {{{unknown}}}; accepted: {{port}} {{host}}")
    if "port" not in names:
        raise UsageError(
            f"--cmd {command!r} lacks {{port}}: that is where rig puts the port that the server is to take"
        )
    return words
