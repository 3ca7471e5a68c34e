"""What the commands `loadgen` and `rig` have in common: errors as one line, and files to write."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import typer

from loadgen.errors import LoadgenError, UsageError
from loadgen.exit_codes import EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_OK, EXIT_USAGE

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

HELP_OPTIONS: Final = {"help_option_names": ["-h", "--help"]}

_WORDS: Final = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it takes a whole number",
}
"""The parser's words for what a user did, and ours."""


def run_app(
    app: typer.Typer,
    name: str,
    arguments: Sequence[str] | None,
    exit_codes: Mapping[type[Exception], int] | None = None,
) -> int:
    """Runs a typer app and returns its exit code; trouble that is the user's to mend is one line on stderr.

    `exit_codes` adds errors of other packages to ours, the most special first; one with a `log_tail` has that printed
    below its line.
    """
    expected = {**(exit_codes or {}), LoadgenError: EXIT_USAGE}
    command = typer.main.get_command(app)
    _open_standard_streams()
    try:
        code = command.main(args=None if arguments is None else list(arguments), prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _complain(name, _first_line(error), EXIT_USAGE)
    except (BrokenPipeError, SystemExit):  # the latter is typer's own answer to a broken pipe
        # The reader has gone, as in `| head`. Nothing more can be said to it, also not by the interpreter at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_NOTHING
    except OSError as error:
        return _complain(name, f"{error.filename or 'output'}: {error.strerror or error}", EXIT_NOTHING)
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:
        code = next((code for kind, code in expected.items() if isinstance(error, kind)), None)
        if code is None:
            raise
        tail = getattr(error, "log_tail", "")
        return _complain(name, f"{error}\n{tail}" if tail else str(error), code)
    return code if isinstance(code, int) else EXIT_OK


def _open_standard_streams() -> None:
    """Gives each of the three that the command was started without, as by `>&-`, the null device.

    Left free, its number would go to the next socket: libuv does not close one that low, it aborts.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def create_file(option: str, path: Path) -> TextIO:
    """A file to write results to. Open it before anything is fired: a name that cannot be written is found out then.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        return io.TextIOWrapper(io.BufferedWriter(_NamedFile(path, "w")), encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; name a file that can be written") from None


class _NamedFile(io.FileIO):
    """A file that says which one it is when it cannot be written, as on a full disk, at whatever moment that is."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.name)) from None


def tell(note: str) -> None:
    """Writes a note to stderr. One that cannot be written must not end a measurement."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{note}\n")
        sys.stderr.flush()


def _complain(name: str, text: str, code: int) -> int:
    tell(f"{name}: {text}")
    return code


def _first_line(error: Any) -> str:
    """A usage error as the parser words it, on one line, with the way to more."""
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return " ".join(text.split()) + " (--help tells what is accepted)"
