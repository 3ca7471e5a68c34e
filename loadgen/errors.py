"""The troubles that end a command, as against failing requests (an `Outcome`) and doubtful numbers (a finding).

LoadgenError
├── UsageError        what was asked cannot be done as asked; exit 2
│   ├── FolderError       a run folder cannot be made
│   └── CapacityError     N does not fit this machine's descriptors or ports
└── DataError         a saved run or a file of samples that cannot be read; exit 2
"""

from __future__ import annotations


class LoadgenError(Exception):
    """Base of every error this package raises on purpose; its text is one line for the user."""


class UsageError(LoadgenError):
    """What was asked for is not possible; the text says what is accepted."""


class CapacityError(UsageError):
    """The machine has too few descriptors or ports; the text says how many requests do fit."""


class FolderError(UsageError):
    """A run folder could not be made; the text names what to name instead."""


class DataError(LoadgenError):
    """A saved run could not be read; the text names the file, the line and what is expected."""
