"""Fixtures that several test folders share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import pytest

from tests.support import Server

# Each command that a test starts would compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A time limit an example would fail on a busy machine and say nothing about the code.
hypothesis.settings.register_profile("loadrig", deadline=None, max_examples=60)
hypothesis.settings.load_profile("loadrig")


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that answers at once, after a delay, or not at all, by path."""
    with Server() as server:
        yield server
