"""The knobs of a server in a rig.toml, and the limit that is computed from them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from servers.own.command import PLACES
from servers.own.table import Table
from servers.profile import Flag, Kind, Knob, Text, Value, Values, Whole
from servers.template import fill

_MOST: Final = 999_999_999_999
_USUAL_MOST: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class OwnKnob:
    """A knob, and the option by which the server takes it; empty where the command has its placeholder instead."""

    knob: Knob
    option: str

    def words(self, value: Value) -> list[str]:
        """What follows the command where this value is given."""
        # An option that does not say the value is a switch: it is there or not.
        if not self.option or ("{value}" not in self.option and not value):
            return []
        return [fill(word, {}, value=value) for word in shlex.split(self.option)]

    def printed(self, value: Value) -> str:
        """The knob on the `server args` line."""
        return " ".join(self.words(value)) or self.knob.option(value)


def read_knobs(table: Table) -> list[OwnKnob]:
    """The knobs of a server's table `knobs`, in its order.

    Raises:
        UsageError: one is not as the page on rig.toml has it.
    """
    return [_read_knob(table, name) for name in table.content]


def _read_knob(knobs: Table, name: str) -> OwnKnob:
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in PLACES:
        knobs.fail(name, "is no knob's name: small letters, digits and _, a letter first, and neither port nor host")
    if isinstance(knobs.content[name], dict):
        table = knobs.table(name)
    else:
        table = knobs.with_table(name, {"default": knobs.content[name]})
    table.accept(("default", "min", "max", "meaning", "option"))
    kind, default = _kind_and_default(table)
    option = table.text("option", "")
    if option:
        _check_option(table, option, kind)
    return OwnKnob(Knob(name, default, table.text("meaning", "of this server"), kind), option)


def _kind_and_default(table: Table) -> tuple[Kind, Value]:
    """By the default's type."""
    default = table.content.get("default")
    kind: Kind
    match default:
        case bool():
            kind = Flag()
        case int():
            low = table.whole("min", 0, _MOST)
            kind = Whole(low, table.whole("max", max(low, _USUAL_MOST), _MOST))
        case str():
            kind = Text()
        case _:
            table.refuse("default", "a whole number, true, false or text")
    for key in () if isinstance(kind, Whole) else ("min", "max"):
        if key in table.content:
            table.fail(key, "is only for a knob whose default is a whole number")
    try:
        return kind, kind.read(str(default).lower() if isinstance(default, bool) else str(default))
    except ValueError:
        table.refuse("default", kind.accepts)


def _check_option(table: Table, option: str, kind: Kind) -> None:
    found = table.check_template("option", option, ["value"])
    if not found and not isinstance(kind, Flag):
        table.fail("option", f"lacks {{value}}, in {option!a}: only a knob of true and false may be a bare switch")
    table.words("option")


def read_limit(table: Table, knobs: Sequence[Knob]) -> Callable[[Values], int | None] | None:
    """A server's `concurrency_limit` as a function of its knobs, where 0 means that nothing limits it.

    None where the key is not given: the limit is not known.

    Raises:
        UsageError: it is no product of whole numbers and of knobs that are whole numbers.
    """
    key = "concurrency_limit"
    value = table.content.get(key)
    if value is None:
        return None
    known = [knob.name for knob in knobs if isinstance(knob.kind, Whole)]
    factors = [factor.strip() for factor in value.split("*")] if isinstance(value, str) else [str(value)]
    if isinstance(value, bool) or not all(factor in known or re.fullmatch("[0-9]{1,9}", factor) for factor in factors):
        names = f"one of the knobs {', '.join(known)}" if known else "a knob (of whole numbers; there is none)"
        table.refuse(key, f"a whole number, {names}, or a product of such, as in 'workers * threads'")

    def limit(values: Values) -> int | None:
        product = prod(int(values[factor] or 0) if factor in values else int(factor) for factor in factors)
        return min(product, _MOST) or None  # beyond that it is as good as none, and no 64 bits hold it

    return limit
