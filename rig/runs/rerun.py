"""The same again: the command of a saved run, carried out once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadgen.errors import UsageError
from loadgen.redaction import REDACTED

_WITH_VALUE = ("-o", "--output", "--samples", "--runs-dir", "--name")
"""Options about files of then: they are not written over."""
_ALONE = ("--save", "--no-save")
_HEADER = ("-H", "--header")


def arguments_again(command: Sequence[str], more: Sequence[str]) -> list[str]:
    """The arguments of a saved command line, the program left out, with further ones behind them.

    A header whose value was not kept is left out where one of that name is among those.

    Raises:
        UsageError: something else that was not kept is needed.
    """
    given = [_name(word).lower() for option, word in _pairs(more) if option in _HEADER]
    kept = []
    for option, word in _pairs(command[1:]):
        if option in _HEADER and REDACTED in word:
            if _name(word).lower() not in given:
                name = _name(word)
                raise UsageError(f"the value of {name} was not kept: give it again, as -H '{name}: ...' behind the run")
        elif REDACTED in word:
            raise UsageError(f"{word!r} was not kept as it was, and cannot be sent again")
        elif option not in _WITH_VALUE and word not in _ALONE:
            kept += [option, word] if option else [word]
    return [*kept, *more]


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option that matters here with its value, however they were joined, and each other word, with no option."""
    rest = iter(words)
    for word in rest:
        long, equals, value = word.partition("=")
        short, joined = word[:2], word[2:]
        if word in (*_WITH_VALUE, *_HEADER):
            yield word, next(rest, "")
        elif equals and long in (*_WITH_VALUE, *_HEADER):
            yield long, value
        elif joined and short in ("-o", "-H"):
            yield short, joined
        else:
            yield "", word


def _name(header: str) -> str:
    return header.partition(":")[0].strip()
