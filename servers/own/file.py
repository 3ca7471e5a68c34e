"""The servers of a rig.toml as profiles, and the catalog that they join."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from servers.catalog import PROFILES
from servers.errors import UsageError
from servers.own.command import ANY_ANSWER, NAMED_PATH, PLACES, filler, on_one_line, shown
from servers.own.knobs import OwnKnob, read_knobs, read_limit
from servers.own.table import Table
from servers.profile import LIMIT_NOT_KNOWN, READY_TIMEOUT_S, Knob, Profile, Values
from servers.readiness import can_be_asked
from servers.template import fill
from servers.toml import read_toml

FILE_NAME: Final = "rig.toml"

_KEYS: Final = (
    "command",
    "ready",
    "directory",
    "environment",
    "limits",
    "concurrency_limit",
    "ready_timeout",
    "knobs",
)
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


def catalog(file: Path | None) -> Mapping[str, Profile]:
    """The built-in profiles, and those of the file; without one, of the rig.toml in the working directory, if any.

    Raises:
        UsageError: the file cannot be read, or something in it is not accepted.
    """
    if file is None and not Path(FILE_NAME).exists():
        return PROFILES
    return {**PROFILES, **{profile.name: profile for profile in read_profiles(file or Path(FILE_NAME))}}


def read_profiles(file: Path) -> list[Profile]:
    """A profile for each server of the file, in its order. See `catalog`."""
    try:
        content = read_toml(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from error
    top = Table(file, "", content)
    top.accept(("servers",))
    servers = top.table("servers")
    return [_read_profile(servers, name) for name in servers.content]


def _read_profile(servers: Table, name: str) -> Profile:
    _check_name(servers, name)
    table = servers.table(name)
    table.accept(_KEYS)
    own_knobs = read_knobs(table.table("knobs"))
    knobs = tuple(own.knob for own in own_knobs)
    by_name = {own.knob.name: own for own in own_knobs}
    words = table.words("command")
    environment = _read_environment(table)
    filled = _check_places(table, words, own_knobs)
    limit = read_limit(table, knobs)

    def appended(given: Values) -> list[str]:
        return [word for key, value in given.items() if key not in filled for word in by_name[key].words(value)]

    return Profile(
        name=name,
        server=shown(table.content["command"]),
        knobs=knobs,
        limits=_read_limits(table, knobs, limit),
        concurrency_limit=limit or (lambda _: None),
        limit_known=limit is not None,
        command=filler(words),
        appended=appended,
        option=lambda knob, value: by_name[knob.name].printed(value),
        ready=_read_ready(table),
        ready_statuses=NAMED_PATH if "ready" in table.content else ANY_ANSWER,
        ready_timeout_s=_read_timeout(table),
        environment=environment,
        directory=_read_directory(table),
    )


def _check_name(servers: Table, name: str) -> None:
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", name):
        servers.fail(name, "is no server's name: letters, digits, - and _, a letter first")
    if name in PROFILES or re.fullmatch(r"cmd(-\d+)?", name):
        servers.fail(name, f"has the name of {'a built-in profile' if name in PROFILES else 'a --cmd'}: take another")


def _read_environment(table: Table) -> dict[str, str]:
    environment = table.table("environment")
    for name in environment.content:
        if not name or "=" in name:
            environment.fail(name, "is no variable's name: it is not empty and has no =")
    return {name: environment.text(name, "") for name in environment.content}


def _check_places(table: Table, words: Sequence[str], knobs: Sequence[OwnKnob]) -> set[str]:
    """The placeholders in command and environment: all known, the port among them, and no knob that goes nowhere."""
    accepted = (*PLACES, *(own.knob.name for own in knobs))
    found = {place for word in words for place in table.check_template("command", word, accepted)}
    environment = table.table("environment")
    for name, text in _read_environment(table).items():
        found.update(environment.check_template(name, text, accepted))
    if "port" not in found:
        table.fail("command", "lacks {port}, and so does environment: that is where rig puts the port to listen on")
    for own in knobs:
        if own.knob.name not in found and not own.option:
            table.fail(
                f"knobs.{own.knob.name}", f"goes nowhere: put {{{own.knob.name}}} into command, or give it an option"
            )
    return found


def _read_limits(
    table: Table, knobs: Sequence[Knob], limit: Callable[[Values], int | None] | None
) -> Callable[[Values], str]:
    if "limits" in table.content:
        words = on_one_line(table.text("limits", ""))
        table.check_template("limits", words, [knob.name for knob in knobs])
        return lambda values: fill(words, values)
    if limit is None:
        return lambda _: LIMIT_NOT_KNOWN

    def at_once(values: Values) -> str:
        count = limit(values)
        return "nothing" if count is None else f"{count} at once"

    return at_once


def _read_ready(table: Table) -> str:
    ready = table.text("ready", "/")
    table.check_template("ready", ready, PLACES)
    if not can_be_asked(fill(ready, {}, host="127.0.0.1", port=1)):
        table.refuse("ready", "a path that begins with /, or an http:// URL, percent-encoded")
    return ready


def _read_timeout(table: Table) -> float:
    text = table.content.get("ready_timeout", f"{READY_TIMEOUT_S:g}s")
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)(ms|s|m)", text) if isinstance(text, str) else None
    if match is None or not float(match[1]):
        table.refuse("ready_timeout", "text of a number above 0 and a unit, as in '500ms', '30s' or '2m'")
    return float(match[1]) * _SECONDS[match[2]]


def _read_directory(table: Table) -> Path:
    directory = (table.file.parent / table.text("directory", ".")).absolute()
    if not directory.is_dir():
        table.fail("directory", f"is a folder, counted from the file's own; there is no {directory}")
    return directory
