"""Trouble that ends the bench, or one reading of it."""

from __future__ import annotations


class BenchError(Exception):
    """Nothing can be measured; the text is one line for the user."""

    exit_code = 3


class SetupError(BenchError):
    """This machine lacks something that the bench cannot do without."""

    exit_code = 2


class ReadingError(Exception):
    """A client failed, or its output does not tell what is asked of it."""
