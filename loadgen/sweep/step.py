"""One step of a sweep: a level of load, the run at it, and whether the server kept up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loadgen.explain.backlog import Backlog
from loadgen.explain.runs import gist
from loadgen.explain.words import counted
from loadgen.plan import Plan
from loadgen.run import Run

_WHOLE = 0.99
"""Of the requests; with fewer ok, completions are behind whatever the backlog does."""


@dataclass(frozen=True, slots=True)
class Step:
    """A level and its run."""

    level: float
    """Users, or requests a second."""
    plan: Plan
    run: Run

    @property
    def is_rate(self) -> bool:
        """Whether the level is requests a second."""
        return self.plan.workload.is_open

    @property
    def level_words(self) -> str:
        """`200 users`, `1,850/s`."""
        return level_words(self.level, is_rate=self.is_rate)

    @property
    def throughput_rps(self) -> float:
        """ok requests a second, until the last was done; 0 where none was."""
        return (self.run.summary.throughput_rps or 0.0) if self.run.summary.ok else 0.0

    @property
    def backlog(self) -> Backlog | None:
        """Requests due and not done, of a step at a rate."""
        return Backlog.of(self.run.samples) if self.is_rate else None

    @property
    def completed_rps(self) -> float:
        """ok requests a second while requests came, where a backlog tells; else as throughput."""
        return self.throughput_rps if self.backlog is None else self.backlog.completion_rps

    @property
    def kept_up(self) -> bool | None:
        """Whether completions kept up with arrivals; None for users, and for a run that is not to be trusted."""
        if not self.is_rate or not self.run.trusted:
            return None
        summary, backlog = self.run.summary, self.backlog
        if summary.ok < _WHOLE * summary.requests:
            return False
        return backlog is None or not backlog.grows

    @property
    def reason(self) -> str:
        """What a person would be told in a few words: findings, and a backlog."""
        words = [gist([finding]) for finding in self.run.findings]
        if self.kept_up is False:
            words.insert(0, "fell behind")
        if self.run.interrupted:
            words.insert(0, "interrupted")
        return "; ".join(words)

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        from loadgen.render.document import run_data

        return {
            "rate_rps" if self.is_rate else "users": self.level,
            "kept_up": self.kept_up,
            **run_data(self.run, self.plan),
        }


def level_words(level: float, *, is_rate: bool) -> str:
    """`200 users`, `1,850/s`."""
    return (
        f"{level:,.0f}/s" if is_rate and level >= 10 else f"{level:g}/s" if is_rate else counted(round(level), "user")
    )
