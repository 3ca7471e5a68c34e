"""Reads a profile spec: `threads`, or `threads:threads=400,backlog=10`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from servers.errors import RuntimeMissing, UsageError
from servers.ports import bracketed
from servers.profile import Knob, Profile, Value, Values
from servers.table import PROFILES
from servers.template import fill

__all__ = ["PROFILES", "Instance", "Knob", "Profile", "guess", "parse_spec"]


@dataclass(frozen=True, slots=True)
class Instance:
    """A profile with a value for each knob.

    Attributes:
        values: for each knob its value, given or default; read only.
        spec: the text it was read from.
        given: the values that were given, in the order given; read only.
    """

    profile: Profile
    values: Values
    spec: str
    given: Values

    @property
    def args(self) -> str:
        """The knobs that were given, as the server's arguments; empty where none was."""
        by_name = {knob.name: knob for knob in self.profile.knobs}
        return " ".join(self.profile.option(by_name[name], value) for name, value in self.given.items())

    @property
    def limits(self) -> str:
        """What limits it, in words: '400 threads'."""
        return self.profile.limits(self.values)

    @property
    def concurrency_limit(self) -> int | None:
        """How many requests it works on at once; None where nothing limits it, or where `limit_known` is false."""
        return self.profile.concurrency_limit(self.values)

    @property
    def limit_known(self) -> bool:
        """Whether `concurrency_limit` is known. See `Profile`."""
        return self.profile.limit_known

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
        return [*self.profile.command(self.values, host, port), *self.profile.appended(self.given)]

    def environment(self, host: str, port: int) -> dict[str, str]:
        """The variables that it is given there in addition to the starter's."""
        texts = self.profile.environment.items()
        return {name: fill(text, self.values, host=host, port=port) for name, text in texts}

    def ready_url(self, base: str, host: str, port: int) -> str:
        """The URL that tells whether it is ready; `base` is where a client finds it."""
        ready = fill(self.profile.ready, {}, host=bracketed(host), port=port)
        return f"{base}{ready}" if ready.startswith("/") else ready


def parse_spec(spec: str, profiles: Mapping[str, Profile] = PROFILES) -> Instance:
    """The instance that a spec names.

    Raises:
        UsageError: unknown profile or knob, a value that the knob does not take, or no spec at all.
    """
    name, colon, settings = spec.partition(":")
    profile = profiles.get(name)
    if profile is None:
        raise UsageError(f"no profile {name!r}{guess(name, profiles)}; profiles: {', '.join(profiles)}")
    given: dict[str, Value] = {}
    for setting in settings.split(",") if colon else ():
        knob, value = _read_setting(profile, spec, setting)
        if knob.name in given:
            raise UsageError(f"{spec!r} gives {knob.name} twice")
        given[knob.name] = value
    values = {knob.name: knob.default for knob in profile.knobs} | given
    return Instance(profile, MappingProxyType(values), spec, MappingProxyType(given))


def _read_setting(profile: Profile, spec: str, setting: str) -> tuple[Knob, Value]:
    name, equals, text = setting.partition("=")
    if not equals or not name:
        raise UsageError(f"{spec!r} is no profile spec: a spec is name, or name:knob=value,knob=value")
    knob = profile.knob(name)
    names = [knob.name for knob in profile.knobs]
    if knob is None:
        knobs = f"its knobs: {', '.join(names)}" if names else "it has none"
        raise UsageError(f"profile {profile.name} has no knob {name!r}{guess(name, names)}; {knobs}")
    try:
        return knob, knob.kind.read(text)
    except ValueError:
        raise UsageError(f"{name} of profile {profile.name} is {knob.kind.accepts}, not {text!r}") from None


def guess(name: str, known: Iterable[str]) -> str:
    """`, did you mean threads?` where one of the known names is close; else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {close[0]}?" if close else ""
