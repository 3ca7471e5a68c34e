"""What the steps of a sweep come to: the knee of users, or the first rate that was not kept up with. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from loadgen.sweep.scalability import FEWEST, Knee, knee_of
from loadgen.sweep.step import Step, level_words

_WITHIN: Final = 0.9
"""Of the largest step; a knee that may be beyond it is not shown by the steps."""
_POOR: Final = 0.15
"""Relative error of a fit that does not follow the steps."""
_FALLS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Result:
    """The sentence, and what it rests on."""

    sentence: str
    value: float | None = None
    """The knee in users, or the highest rate kept up with; None where the steps do not show it."""
    interval: tuple[float, float] | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        interval = None if self.interval is None else [round(end, 3) for end in self.interval]
        value = None if self.value is None else round(self.value, 3)
        return {"value": value, "interval": interval, "sentence": self.sentence, **self.details}


def result_of(steps: Sequence[Step]) -> Result:
    """What the steps come to; those interrupted or not to be trusted are left out."""
    told = [step for step in steps if step.run.trusted and not step.run.interrupted and step.run.summary.ok]
    if not told:
        return Result("no step was answered by a server at its own pace, so there is nothing to tell.")
    return _of_rates(told) if told[0].is_rate else _of_users(told)


def _of_users(steps: Sequence[Step]) -> Result:
    if len(steps) < FEWEST:
        return Result(
            f"{len(steps)} of the steps can be used: too few to tell where throughput flattens ({FEWEST} do)."
        )
    users = [step.level for step in steps]
    seen = [step.throughput_rps for step in steps]
    knee = knee_of(users, seen)
    if knee is None:
        return Result("no curve fits these steps, so where throughput flattens is not told.")
    details = _details(knee)
    most = level_words(users[-1], is_rate=False)
    if knee.high > _WITHIN * users[-1] or seen[-1] > _WITHIN * knee.curve.per_user_rps * users[-1]:
        return Result(f"the steps do not show where throughput flattens: it still grew up to {most}.", details=details)
    if knee.users <= users[0] * 1.01:
        first = level_words(users[0], is_rate=False)
        sentence = f"throughput is flat from {first}, the first step, on, about {max(seen):,.0f}/s: begin with fewer."
        return Result(sentence, details=details)
    falls = ""
    top = max(range(len(seen)), key=seen.__getitem__)
    if knee.curve.peak_users is not None and knee.curve.peak_users < users[-1] and seen[-1] < (1 - _FALLS) * seen[top]:
        falls = f"; beyond about {knee.curve.peak_users:,.0f} throughput falls again"
    doubt = f" (the steps follow the curve only to {knee.error:.0%})" if knee.error > _POOR else ""
    low, high = round(knee.low), round(knee.high)
    return Result(
        f"throughput flattens at about {level_words(round(knee.users), is_rate=False)} ({low:,} to {high:,}):"
        f" beyond it each further user adds waiting, not throughput{falls}{doubt}.",
        knee.users,
        (knee.low, knee.high),
        details,
    )


def _details(knee: Knee) -> dict[str, Any]:
    curve = knee.curve
    return {
        "model": curve.model,
        "per_user_rps": round(curve.per_user_rps, 4),
        "contention": round(curve.contention, 6),
        "coherency": round(curve.coherency, 9),
        "peak_users": None if curve.peak_users is None else round(curve.peak_users, 1),
        "error": round(knee.error, 4),
    }


def _of_rates(steps: Sequence[Step]) -> Result:
    behind = next((step for step in steps if step.kept_up is False), None)
    if behind is None:
        last = steps[-1].level
        return Result(f"the server kept up with every rate tried, up to {level_words(last, is_rate=True)}.", last)
    completed = f"{behind.completed_rps:,.0f}/s were completed"
    if behind.run.summary.failed:
        completed += f", and {behind.run.summary.failed:,} of {behind.run.summary.requests:,} requests failed"
    kept = [step for step in steps if step.level < behind.level]
    if not kept:
        return Result(f"at {behind.level_words}, the lowest step that tells, completions fell behind: {completed}.")
    low = kept[-1].level
    return Result(
        f"the server kept up with {level_words(low, is_rate=True)}; at {behind.level_words} completions fell behind"
        f" arrivals: {completed}.",
        low,
        (low, behind.level),
        {"completed_beyond_rps": round(behind.completed_rps, 3)},
    )
