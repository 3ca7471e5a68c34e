"""What a change must not come to, as in `p99 worse by 10%`, and whether it did."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from loadgen.errors import UsageError
from rig.diff.figures import FIGURES, Compared, FigureDiff, Verdict
from rig.diff.words import change_words, p_words, too_few_words

_FORM: Final = re.compile(r"\s*(\w+)\s+worse(?:\s+by\s+(\d+(?:\.\d+)?)\s*%)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class FailIf:
    """A bound on how much worse one figure may be."""

    text: str
    """As it was written, with single spaces."""
    figure: str
    percent: float
    """0: by nothing."""

    def judge(self, compared: Compared) -> Judged:
        """Whether it is worse by more. Too few runs neither pass nor fail."""
        diff = next(diff for diff in compared.figures if diff.figure.name == self.figure)
        if diff.verdict is Verdict.TOO_FEW:
            return Judged(self, compared.name, diff, None)
        return Judged(self, compared.name, diff, not (diff.verdict is Verdict.WORSE and self._is_beyond(diff)))

    def _is_beyond(self, diff: FigureDiff) -> bool:
        """Whether a change for the worse is beyond the bound; from nothing it is beyond any."""
        percent = inf if diff.change_percent is None else abs(diff.change_percent)
        return percent > self.percent


@dataclass(frozen=True, slots=True)
class Judged:
    """What a profile came to, held against a bound."""

    fail_if: FailIf
    profile: str
    diff: FigureDiff
    passed: bool | None
    """None: not judged, there are too few runs; it does not pass."""

    @property
    def line(self) -> str:
        """`fail-if: async, p99 worse by 10%: failed, +23.0% (p=0.00794)`."""
        return judged_line(self.profile, self.data())

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        return {"fail_if": self.fail_if.text, "passed": self.passed, "reason": self._reason}

    @property
    def _reason(self) -> str:
        if self.passed is None:
            return too_few_words(self.diff)
        seen = "no difference seen, " if self.diff.verdict is Verdict.SAME else ""
        return f"{seen}{change_words(self.diff)} ({p_words(self.diff)})"


def judged_line(profile: str, data: Mapping[str, Any]) -> str:
    """The text form of a profile's `Judged.data`."""
    verdict = {True: "passed", False: "failed", None: "not judged"}[data["passed"]]
    named = f"{profile}, " if profile else ""
    return f"fail-if: {named}{data['fail_if']}: {verdict}, {data['reason']}"


def parse_fail_if(text: str) -> FailIf:
    """A bound such as `p99 worse by 10%`, or `failed worse` for any.

    Raises:
        UsageError: it cannot be read, or is about an unknown figure.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-if {text!r} is not accepted: write a figure and by how much, as in 'p99 worse by 10%', or"
            " 'failed worse'"
        )
    names = [figure.name for figure in FIGURES]
    if match[1] not in names:
        raise UsageError(f"--fail-if {text!r} is not accepted: the figures are {', '.join(names)}")
    return FailIf(" ".join(text.split()), match[1], float(match[2] or 0))


def judge_all(compared: Iterable[Compared], bounds: Sequence[FailIf]) -> list[Judged]:
    """Each bound on each of these, in their order."""
    return [bound.judge(each) for each in compared for bound in bounds]
