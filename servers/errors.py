"""Every exception of this package.

ServersError
├── UsageError      the user asked for something that does not exist; the message says what is accepted
│   └── PortInUse   the port that was asked for belongs to somebody else
├── RuntimeMissing  this machine has not what a server runs on
├── StartError      a server did not become ready
├── ProgramError    a program that is no server, such as a compiler, ended with an error
└── RequestError    a request that an endpoint refuses; never leaves the server process
"""

from __future__ import annotations

from pathlib import Path


class ServersError(Exception):
    """Base of this package's exceptions. `str()` is one line."""


class UsageError(ServersError):
    """The user asked for something that does not exist or is out of bounds."""


class PortInUse(UsageError):  # noqa: N818  # what the user reads, too
    """The port asked for is taken."""


class RuntimeMissing(ServersError):  # noqa: N818  # what the user reads, too
    """A runtime that a server needs is not here, or too old. The message says which, and what installs it."""


class StartError(ServersError):
    """A server exited before it was ready, or was not ready in time.

    Attributes:
        log_tail: the last lines of what the server wrote, oldest first; may be empty.
        log_path: the whole of it. The file is kept.
    """

    def __init__(self, message: str, *, log_tail: str, log_path: Path) -> None:
        super().__init__(message)
        self.log_tail = log_tail
        self.log_path = log_path


class ProgramError(ServersError):
    """A program that is no server ended with an error.

    Attributes:
        log_tail: the last lines of what it wrote, oldest first; may be empty.
    """

    def __init__(self, message: str, *, log_tail: str) -> None:
        super().__init__(message)
        self.log_tail = log_tail


class RequestError(ServersError):
    """A request is refused with `status`; the message is the one line that the client reads."""

    def __init__(self, status: int, message: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
