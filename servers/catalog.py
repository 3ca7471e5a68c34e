"""Reads a profile spec: `threads`, or `threads:threads=400,backlog=10`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from servers.errors import RuntimeMissing, UsageError
from servers.profile import Knob, Profile, Value, Values
from servers.table import PROFILES

__all__ = ["PROFILES", "Instance", "Knob", "Profile", "parse_spec"]


@dataclass(frozen=True, slots=True)
class Instance:
    """A profile with a value for each knob.

    Attributes:
        values: for each knob its value, given or default; read only.
        spec: the text it was read from.
        args: the knobs that were given, as the server's arguments, in the order given; empty where none was.
    """

    profile: Profile
    values: Values
    spec: str
    args: str

    @property
    def limits(self) -> str:
        """What limits it, in words: '400 threads'."""
        return self.profile.limits(self.values)

    @property
    def concurrency_limit(self) -> int | None:
        """How many requests it works on at once; None where nothing limits it."""
        return self.profile.concurrency_limit(self.values)

    @property
    def processes(self) -> int:
        """How many processes announce themselves in its stats file. See `Profile`."""
        return self.profile.processes(self.values)

    def require_runtime(self) -> None:
        """Sees that what it runs on is here, and that it is built or can be.

        Raises:
            RuntimeMissing: it is not; the message names the spec.
        """
        try:
            if self.profile.runtime is not None:
                self.profile.runtime.find()
            if self.profile.build is not None:
                self.profile.build.require_tools()
        except RuntimeMissing as missing:
            raise RuntimeMissing(f"{self.spec}: {missing}") from None

    def build(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Builds its program where that is not done yet. See `Build.make`."""
        if self.profile.build is not None:
            self.profile.build.make(tell)

    def command(self, host: str, port: int) -> list[str]:
        """The command that serves on `host` and `port`."""
        return self.profile.command(self.values, host, port)


def parse_spec(spec: str, profiles: Mapping[str, Profile] = PROFILES) -> Instance:
    """The instance that a spec names.

    Raises:
        UsageError: unknown profile or knob, a value that the knob does not take, or no spec at all.
    """
    name, colon, settings = spec.partition(":")
    profile = profiles.get(name)
    if profile is None:
        raise UsageError(f"no profile {name!r}{_guess(name, profiles)}; profiles: {', '.join(profiles)}")
    given: dict[str, Value] = {}
    for setting in settings.split(",") if colon else ():
        knob, value = _read_setting(profile, spec, setting)
        if knob.name in given:
            raise UsageError(f"{spec!r} gives {knob.name} twice")
        given[knob.name] = value
    by_name = {knob.name: knob for knob in profile.knobs}
    return Instance(
        profile,
        MappingProxyType({knob.name: knob.default for knob in profile.knobs} | given),
        spec,
        " ".join(profile.option(by_name[name], value) for name, value in given.items()),
    )


def _read_setting(profile: Profile, spec: str, setting: str) -> tuple[Knob, Value]:
    name, equals, text = setting.partition("=")
    if not equals or not name:
        raise UsageError(f"{spec!r} is no profile spec: a spec is name, or name:knob=value,knob=value")
    knob = profile.knob(name)
    names = [knob.name for knob in profile.knobs]
    if knob is None:
        knobs = f"its knobs: {', '.join(names)}" if names else "it has none"
        raise UsageError(f"profile {profile.name} has no knob {name!r}{_guess(name, names)}; {knobs}")
    try:
        return knob, knob.kind.read(text)
    except ValueError:
        raise UsageError(f"{name} of profile {profile.name} is {knob.kind.accepts}, not {text!r}") from None


def _guess(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {close[0]}?" if close else ""
