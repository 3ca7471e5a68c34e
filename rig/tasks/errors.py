"""Every exception of this package.

TasksError
├── Unavailable     this Python, or this machine, has not what an executor needs
└── ChildError      the process that measures ended before it had answered
"""

from __future__ import annotations


class TasksError(Exception):
    """Base of this package's exceptions. `str()` is one line."""


class Unavailable(TasksError):  # noqa: N818  # what the user reads, too
    """Something that an executor needs is not here. The message says what, and what is there."""


class ChildError(TasksError):
    """A measuring process failed; the message is the last line that it wrote."""
