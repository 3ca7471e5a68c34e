"""The exit codes of both commands."""

from __future__ import annotations

from typing import Final

EXIT_OK: Final = 0
"""Measured."""
EXIT_MISSED: Final = 1
"""A stated objective was missed."""
EXIT_USAGE: Final = 2
EXIT_NOTHING: Final = 3
"""Nothing could be measured."""
EXIT_INTERRUPTED: Final = 130
"""What was measured until then is printed."""
