"""Texts with placeholders: `{host}`, `{port}`, and a knob's name in braces; `{{` and `}}` are the braces themselves."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter

from servers.profile import Value, Values, spoken


def placeholders(text: str) -> list[str]:
    """The names that stand in braces, in order.

    Raises:
        ValueError: a brace without its other one, or more than a name between two.
    """
    names = []
    for _, name, form, conversion in Formatter().parse(text):
        if form or conversion or name == "":
            raise ValueError(text)
        if name is not None:
            names.append(name)
    return names


def fill(text: str, values: Values, **more: Value) -> str:
    """The text with each placeholder replaced by its value, written as a spec writes it."""
    named: Mapping[str, Value] = {**values, **more}
    return "".join(
        literal + ("" if name is None else spoken(named[name])) for literal, name, _, _ in Formatter().parse(text)
    )
