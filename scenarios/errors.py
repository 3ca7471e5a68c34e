"""The one exception of this package."""

from __future__ import annotations


class ScenarioError(Exception):
    """A scenario cannot be had as asked; one line that names file and key, and says what is accepted."""
