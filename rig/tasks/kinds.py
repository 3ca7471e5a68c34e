"""What an executor spec means: its name, how many threads or processes it needs, and what findings call it."""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loadgen.errors import UsageError
from rig.tasks.errors import Unavailable

if TYPE_CHECKING:
    from loadgen.explain.words import Terms

MOST_WORKERS: Final = 100_000
MOST_PROCESSES: Final = 256


@dataclass(frozen=True, slots=True)
class _Form:
    """One form of spec."""

    name: str
    """As a line of results has it; {k} is the number of workers."""
    server: str
    """The subject of a finding's sentence."""
    through: str
    """What tasks go through, in the closing sentence."""
    most: int = 0
    """The highest number of workers; 0: it takes none."""
    locked: bool = False
    """Whether one interpreter lock is over all that compute."""


_FORMS: Final = {
    "pool": _Form("pool({k})", "the pool", "{k} threads", MOST_WORKERS, locked=True),
    "thread-each": _Form("thread each", "this process", "a thread each", locked=True),
    "asyncio": _Form("asyncio", "the event loop", "asyncio", locked=True),
    "greenlets": _Form("greenlets", "gevent's loop", "greenlets", locked=True),
    "processes": _Form("processes({k})", "the pool", "{k} processes", MOST_PROCESSES),
    "interpreters": _Form("interpreters({k})", "the pool", "{k} sub-interpreters", MOST_PROCESSES),
    "java:pool": _Form("java pool({k})", "the pool", "{k} Java threads", MOST_WORKERS),
    "java:virtual": _Form("java virtual", "the JVM", "virtual threads"),
    "java:thread-each": _Form("java thread each", "the JVM", "a Java thread each"),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """An executor, as it was asked for."""

    form: str
    """`pool`, `asyncio`, `java:virtual` ..."""
    workers: int = 0
    """0 where the form takes none."""

    @classmethod
    def parse(cls, spec: str) -> Kind:
        """The executor of a spec such as `pool:100`, `asyncio` or `java:virtual`.

        Raises:
            UsageError: there is no such form, or its number of workers is missing, not wanted, or out of bounds.
        """
        form, _, number = spec.strip().rpartition(":") if spec.strip()[-1:].isdigit() else (spec.strip(), "", "")
        known = _FORMS.get(form)
        if known is None:
            near = difflib.get_close_matches(form, _FORMS, 1)
            meant = f", did you mean {near[0]}?" if near else ";"
            raise UsageError(f"no executor {spec!r}{meant} executors: {', '.join(map(_written, _FORMS))}")
        if not known.most:
            if number:
                raise UsageError(f"executor {spec!r} is not accepted: {form} takes no number")
            return cls(form)
        workers = int(number) if number.isascii() and number.isdigit() and len(number) <= 9 else 0
        if not 1 <= workers <= known.most:
            raise UsageError(f"executor {spec!r} is not accepted: write it as {form}:K, with K from 1 to {known.most}")
        return cls(form, workers)

    @property
    def spec(self) -> str:
        """What was asked for."""
        return f"{self.form}:{self.workers}" if self.workers else self.form

    @property
    def name(self) -> str:
        """As results have it, such as `pool(100)`."""
        return _FORMS[self.form].name.format(k=self.workers)

    @property
    def through(self) -> str:
        """What tasks go through, for a sentence, such as `100 threads`."""
        text = _FORMS[self.form].through.format(k=f"{self.workers:,}")
        if self.workers != 1:
            return text
        return text.removesuffix("es") if text.endswith("processes") else text.removesuffix("s")

    @property
    def is_java(self) -> bool:
        """Whether a JVM carries it out."""
        return self.form.startswith("java:")

    @property
    def is_locked(self) -> bool:
        """Whether one interpreter lock is over all its tasks, so that one of them computes at a time."""
        return _FORMS[self.form].locked and getattr(sys, "_is_gil_enabled", lambda: True)()

    @property
    def terms(self) -> Terms:
        """What the findings call it."""
        from loadgen.explain.words import Terms  # not on the way of a measuring process, which is to stay small

        bound = "one interpreter lock" if self.is_locked else "the CPU"
        return Terms(_FORMS[self.form].server, "task", "a task alone", bound, networked=False)

    def threads_for(self, tasks: int) -> int:
        """How many of the system's threads, or processes, it has at once for so many tasks."""
        if self.form in ("thread-each", "java:thread-each"):
            return tasks
        return min(self.workers, tasks) if self.workers else 1

    def check_available(self) -> None:
        """Checks that this Python, or this machine, has it.

        Raises:
            Unavailable: it has not.
        """
        if self.form == "interpreters" and sys.version_info < (3, 14):
            found = ".".join(map(str, sys.version_info[:2]))
            raise Unavailable(f"{self.spec}: sub-interpreters in a pool need Python 3.14 or later; this is {found}")
        if self.is_java:
            from servers.errors import RuntimeMissing
            from servers.java.tasks import require_java

            try:
                require_java()
            except RuntimeMissing as missing:
                raise Unavailable(f"{self.spec}: {missing}") from None


def parse_kinds(specs: str) -> tuple[Kind, ...]:
    """The executors of a list such as `pool:100,asyncio`.

    Raises:
        UsageError: one is not accepted, or named twice.
    """
    kinds = tuple(Kind.parse(spec) for spec in specs.split(","))
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise UsageError(f"--on names {kind.spec} twice")
    return kinds


def _written(form: str) -> str:
    return f"{form}:K" if _FORMS[form].most else form
