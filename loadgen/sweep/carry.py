"""Carries steps out, one after another, and says when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from loadgen.objective import Objective, Verdict
from loadgen.plan import Plan
from loadgen.run import WARMUP
from loadgen.runner import Session
from loadgen.stop import rest
from loadgen.sweep.result import Result, result_of
from loadgen.sweep.search import TOLERANCE, Bracket
from loadgen.sweep.step import Step, level_words

_ATTEMPTS: Final = 3
_UNTRUSTED: Final = "the generator was the bottleneck"

MakePlan = Callable[[float], Plan]
"""The plan of a level."""


class Carrier:
    """Carries out steps at one target.

    Attributes:
        steps: those that have ended, in the order in which they were carried out.
        interrupted: a signal ended the last of them, or came after it.
    """

    def __init__(self, make_plan: MakePlan) -> None:
        self._make_plan = make_plan
        self._begun = False
        self.steps: list[Step] = []
        self.interrupted = False

    def attempts(self, level: float) -> Iterator[Step]:
        """Carries a step out, and again where the generator disturbed it: that may have been a moment's trouble."""
        for _ in range(_ATTEMPTS):
            step = self._carry(level)
            if step is not None:
                yield step
            if step is None or self.interrupted or step.run.trusted:
                return

    def _carry(self, level: float) -> Step | None:
        """Carries one step out; None where a signal came before it had begun.

        Before the first one its warm-up runs, which are not kept; before each other one the pause.
        """
        plan = self._make_plan(level)
        try:
            with Session(plan) as session:
                for _ in range(0 if self._begun else plan.warmup):
                    self.interrupted = session.run(WARMUP).interrupted or session.is_stopped
                    if self.interrupted:
                        return None
                if self._begun:
                    rest(plan.pause_s)
                self._begun = True
                step = Step(level, plan, session.run(len(self.steps) + 1))
                self.steps.append(step)
                self.interrupted = step.run.interrupted or session.is_stopped
                return step
        except KeyboardInterrupt:  # between two runs
            self.interrupted = True
            return None


class Sweep:
    """Steps at levels that are given. `stopped` says why the rest was left out; None: nothing was."""

    def __init__(self, make_plan: MakePlan, levels: Sequence[float], *, all_steps: bool) -> None:
        """`all_steps`: those too that come after one that tells nothing of the server."""
        self._carrier = Carrier(make_plan)
        self._levels = levels
        self._all = all_steps
        self.stopped: str | None = None

    @property
    def steps(self) -> Sequence[Step]:
        """Those that have ended."""
        return self._carrier.steps

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return self._carrier.interrupted

    def carry_out(self) -> Iterator[Step]:
        """Gives each step as it ends."""
        for level in self._levels:
            yield from self._carrier.attempts(level)
            if self.interrupted:
                return
            if not self._all and level != self._levels[-1]:
                self.stopped = _useless(self.steps[-1])
                if self.stopped is not None:
                    return

    def result(self) -> Result:
        """What the steps so far come to."""
        return result_of(self.steps)


def _useless(step: Step) -> str | None:
    """Why steps of more load than this one would tell nothing of the server; None where they may."""
    if not step.run.summary.ok:
        return (
            f"every request failed at {step.level_words}, so the steps after it were left out; --all carries them out"
        )
    if not step.run.trusted:
        return (
            f"the generator was the bottleneck at {step.level_words}, so the steps after it were left out;"
            " --all carries them out"
        )
    return None


class Search:
    """The search for the highest level that keeps objectives."""

    stopped: str | None = None

    def __init__(self, make_plan: MakePlan, objectives: Sequence[Objective], bracket: Bracket) -> None:
        self._carrier = Carrier(make_plan)
        self._objectives = objectives
        self._bracket = bracket
        self._missed: dict[float, str] = {}

    @property
    def steps(self) -> Sequence[Step]:
        """Those that have ended, in the order in which they were carried out."""
        return self._carrier.steps

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return self._carrier.interrupted

    def carry_out(self) -> Iterator[Step]:
        """Gives each step as it ends."""
        while (level := self._bracket.next()) is not None:
            yield from self._carrier.attempts(level)
            if self.interrupted:
                return
            missed = self.miss(self.steps[-1])
            if missed is not None:
                self._missed[level] = missed
            self._bracket.tell(missed is None)

    def miss(self, step: Step) -> str | None:
        """Why a step does not keep the objectives; None where it does.

        A rate that completions fall behind is not kept, whatever the response times are so far: they go on growing.
        """
        if not step.run.trusted:
            return _UNTRUSTED
        verdicts = step.run.verdicts(self._objectives)
        if missed := [_missed_words(verdict) for verdict in verdicts if not verdict.met]:
            return ", ".join(missed)
        if step.kept_up is False:
            return f"completions fell behind, at {step.completed_rps:,.0f}/s"
        return None

    def result(self) -> Result:
        """The highest level that keeps the objectives, as far as the steps tell."""
        kept, missed = self._bracket.kept, self._bracket.missed
        wanted = " and ".join(objective.text for objective in self._objectives)
        if not self.steps or (kept is None and missed is None):
            return Result(f"no step has ended, so whether any level keeps {wanted} is not told.")
        is_rate = self.steps[0].is_rate
        keeps, does = ("keeps", "does") if is_rate else ("keep", "do")
        beyond = ""
        if missed is not None:
            does_not = "cannot be judged" if self._missed[missed] == _UNTRUSTED else f"{does} not"
            beyond = f"{level_words(missed, is_rate=is_rate)} {does_not}: {self._missed[missed]}"
        details = {"confirmed": self._bracket.confirmed, "tolerance": TOLERANCE}
        if kept is None:
            return Result(f"no level tried is known to keep {wanted}: {beyond}.", None, None, details)
        level = level_words(kept, is_rate=is_rate)
        if missed is None:
            ended = "the search was interrupted there" if self.interrupted else "the highest that was to be tried"
            return Result(f"{level} {keeps} {wanted}; {ended}.", kept, None, details)
        sure = ", and did again when tried once more" if self._bracket.confirmed else ", but this was not confirmed"
        return Result(f"{level} {keeps} {wanted}{sure} ({beyond}).", kept, (kept, missed), details)


def _missed_words(verdict: Verdict) -> str:
    objective = verdict.objective
    return f"{objective.figure} = {objective.shown(verdict.value)}"
