"""Does a prediction hold? Pure.

It does where, in more than half of the runs, the waves are as many as predicted (or their requests too few to tell),
no cause is found in more than half of them that was not predicted, and the median wall is within the bounds below.
Runs that are not to be trusted are left out, where they are not the most of them.
Where resent SYNs are among the predicted causes, requests that TCP sent again are not held against it, neither by the
upper bound nor by the waves of the others: theory knows the server, not TCP's timers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from statistics import median
from typing import Final

from loadgen.explain import CAUSES, Finding
from loadgen.explain.runs import limited_by
from loadgen.explain.words import HTTP, Terms, counted, joined
from loadgen.samples import MISSING, Samples
from loadgen.summary import NS_PER_MS, Summary
from scenarios.theory import Prediction

MOST_LONGER: Final = 1.35
"""Times the predicted wall; or, where that is more, so much longer:"""
LONGER_MS: Final = 500.0
LEAST: Final = 0.9
"""Of the predicted wall: nothing ends before its time, but what is predicted may be rounded."""
MOST_RPS: Final = 1.05
"""Times the predicted rate: the last of a load that ends is not followed by another."""


class Verdict(StrEnum):
    """What became of a prediction."""

    HELD = "held"
    FAILED = "not held"
    UNTRUSTED = "not to be trusted"
    UNPREDICTED = "-"
    UNMEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Seen:
    """One whole run, as far as a prediction is about it."""

    summary: Summary
    findings: tuple[Finding, ...]
    unresent_ms: float
    """Release to the last completion of a request that TCP did not send again; 0 where there is none."""

    @classmethod
    def of(cls, summary: Summary, findings: tuple[Finding, ...], samples: Samples) -> Seen:
        """What is to be seen of a run."""
        rows = (samples.resent <= 0) & (samples.done != MISSING)
        return cls(summary, findings, float(samples.done[rows].max()) / NS_PER_MS if rows.any() else 0.0)

    @property
    def wall_ms(self) -> float:
        """Release to the last completion; 0 where nothing was begun."""
        return (self.summary.wall_ns or 0) / NS_PER_MS

    @property
    def trusted(self) -> bool:
        """Whether the server, and not the generator, set the numbers."""
        return "client" not in self.causes

    @property
    def waves(self) -> int | None:
        """How many waves it made; None where that was not seen."""
        for finding in self.findings:
            waves: list[int] = finding.details.get("waves", [])
            if waves:
                return len(waves)
        return 1 if self.causes & {"overlapped", "cpu-shared"} else None

    @property
    def possible_waves(self) -> int | None:
        """How many waves it may have made as well, where its requests are too few to tell; or else None."""
        for finding in self.findings:
            limit: int | None = finding.evidence.get("possible_limit")
            if limit:
                return ceil(finding.requests / limit)
        return None

    @property
    def causes(self) -> set[str]:
        """The causes found."""
        return {finding.cause for finding in self.findings}

    def fits(self, prediction: Prediction) -> bool:
        """Whether its waves are as predicted, or no evidence against it."""
        return prediction.waves == self.waves or self.is_doubtful(prediction)

    def is_doubtful(self, prediction: Prediction) -> bool:
        """Whether it may have made more waves than were seen: too few requests to tell, or those resent came later."""
        if prediction.waves is None:
            return False
        return self.possible_waves == prediction.waves or self.lacks_resent(prediction)

    def lacks_resent(self, prediction: Prediction) -> bool:
        """Whether its waves are fewer than predicted, and those that TCP sent again are not in them."""
        if prediction.waves is None or self.waves is None or "accept-queue" not in prediction.causes:
            return False
        return "accept-queue" in self.causes and self.waves < prediction.waves

    @property
    def not_resent(self) -> int:
        """How many requests TCP did not send again, as far as that made them wait."""
        resent = sum(finding.requests for finding in self.findings if finding.cause == "accept-queue")
        return self.summary.requests - resent

    def others(self, prediction: Prediction) -> set[str]:
        """The causes found that were not predicted."""
        return self.causes - {*prediction.causes} - ({"overlapped"} if self.is_doubtful(prediction) else set())


def telling(runs: Sequence[Seen]) -> list[Seen]:
    """Those that were answered and can be trusted; where these are not the most, all that were answered."""
    answered = [run for run in runs if run.summary.ok]
    trusted = [run for run in answered if run.trusted]
    return trusted if 2 * len(trusted) > len(answered) else answered


def untrusted_words(runs: Sequence[Seen]) -> str:
    """`not to be trusted in 1 of 3 runs`; empty where all are."""
    answered = [run for run in runs if run.summary.ok]
    untrusted = sum(not run.trusted for run in answered)
    return f"not to be trusted in {untrusted} of {counted(len(answered), 'run')}" if untrusted else ""


def judged_ms(prediction: Prediction | None, runs: Sequence[Seen]) -> float:
    """The median wall that is held against the upper bound: without resent requests, where these are predicted."""
    excused = prediction is not None and "accept-queue" in prediction.causes
    return median(run.unresent_ms if excused else run.wall_ms for run in runs)


def spoken_wall(prediction: Prediction | None, runs: Sequence[Seen]) -> str:
    """`2,526 ms`, the median; `2,526 ms (1,030 ms without those resent)` where that is what is judged."""
    wall, judged = median(run.wall_ms for run in runs), judged_ms(prediction, runs)
    without = f" ({judged:,.0f} ms without those resent)" if round(judged) < round(wall) else ""
    return f"{wall:,.0f} ms{without}"


def spoken_range(values: Sequence[float], unit: str) -> str:
    """`200 late`, `0 to 57 late`; empty of none."""
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,.0f}{unit}" if low == high else f"{low:,.0f} to {high:,.0f}{unit}"


def usual_waves(runs: Sequence[Seen]) -> int | None:
    """How many waves more than half of the runs made; None where no number has so many."""
    counts = [run.waves for run in runs]
    return next((waves for waves in counts if 2 * counts.count(waves) > len(counts)), None)


def usual_causes(runs: Sequence[Seen]) -> list[str]:
    """The causes found in more than half of the runs."""
    return _usual([run.causes for run in runs])


def judge(prediction: Prediction | None, runs: Sequence[Seen], terms: Terms = HTTP) -> tuple[Verdict, str]:
    """The verdict on the whole runs of one side, and the sentence that says why."""
    measured = telling(runs)
    if not measured:
        return Verdict.UNMEASURED, f"not one {terms.request} was answered" if runs else "no run was carried out"
    if not all(run.trusted for run in measured):
        return Verdict.UNTRUSTED, _told(measured, lambda finding: finding.cause == "client")
    if prediction is None:
        return Verdict.UNPREDICTED, limited_by([run.findings for run in measured], terms)
    misses = [miss for miss in (check(prediction, measured) for check in _CHECKS) if miss]
    if not misses:
        return Verdict.HELD, f"as predicted: {_gist(prediction, measured, terms)}"
    guilty = [run for run in measured if any(check(prediction, [run]) for check in _CHECKS)]
    return Verdict.FAILED, f"predicted {'; '.join(misses)}: {_reason(prediction, guilty)}"


def _gist(prediction: Prediction, runs: Sequence[Seen], terms: Terms) -> str:
    """What was found to limit it; or that it cannot be told."""
    too_few = [run for run in runs if run.possible_waves and run.is_doubtful(prediction)]
    if 2 * len(too_few) > len(runs):
        requests = terms.requests(runs[0].summary.requests)
        return f"the times fit, though {requests} are too few to tell {prediction.waves} waves from 1"
    found = limited_by([run.findings for run in runs], terms)
    lacking = [run for run in runs if run.lacks_resent(prediction)]
    if 2 * len(lacking) > len(runs) and prediction.waves is not None:
        others = spoken_range([run.not_resent for run in lacking], "")
        made = joined([*dict.fromkeys(counted(run.waves or 0, "wave") for run in lacking)])
        return (
            f"{found}; the {others} of {terms.requests(lacking[0].summary.requests)} that TCP did not send again made"
            f" {made}, and so many say nothing against {prediction.waves} for all"
        )
    return found


def _waves(prediction: Prediction, runs: Sequence[Seen]) -> str:
    expected = prediction.waves
    if expected is None or _most(runs, lambda run: run.fits(prediction)):
        return ""
    told = f"{counted(expected, 'wave')}, measured"
    usual = usual_waves(runs)
    if usual is not None:
        return f"{told} {usual:,}"
    seen = dict.fromkeys("none to be seen" if run.waves is None else f"{run.waves:,}" for run in runs)
    return f"{told} {joined([*seen])}"


def _causes(prediction: Prediction, runs: Sequence[Seen]) -> str:
    if not prediction.causes:
        return ""
    others = _usual([run.others(prediction) for run in runs])
    return f"{' or '.join(prediction.causes)}, found {joined(others)}" if others else ""


def _wall(prediction: Prediction, runs: Sequence[Seen]) -> str:
    if prediction.wall_ms is None:
        return ""
    least = prediction.wall_ms * LEAST
    most = max(prediction.wall_ms * MOST_LONGER, prediction.wall_ms + LONGER_MS)
    if least <= median(run.wall_ms for run in runs) and judged_ms(prediction, runs) <= most:
        return ""
    measured = spoken_wall(prediction, runs)
    return f"about {prediction.wall_ms:,.0f} ms, measured {measured}; {least:,.0f} to {most:,.0f} would have held"


def _rate(prediction: Prediction, runs: Sequence[Seen]) -> str:
    if prediction.most_rps is None:
        return ""
    rate = median(run.summary.throughput_rps or 0.0 for run in runs)
    if rate <= prediction.most_rps * MOST_RPS:
        return ""
    return f"at most {prediction.most_rps:,.0f} a second, measured {rate:,.0f}"


def _over(prediction: Prediction, runs: Sequence[Seen]) -> str:
    expected = prediction.over
    if expected is None or _most(runs, lambda run: run.summary.over == expected):
        return ""
    return f"{expected:,} late, measured {spoken_range([run.summary.over for run in runs], '')}"


_CHECKS: Final = (_waves, _causes, _wall, _rate, _over)


def _reason(prediction: Prediction, runs: Sequence[Seen]) -> str:
    """The finding that explains these runs: of a cause that was not predicted, or else one of more than overlapping."""
    return (
        _told(runs, lambda finding: finding.cause not in (*prediction.causes, "client"))
        or _told(runs, lambda finding: finding.cause not in ("client", "overlapped"))
        or _told(runs, lambda finding: True)
        or "no cause was found"
    )


def _told(runs: Sequence[Seen], wanted: Callable[[Finding], bool]) -> str:
    """The sentence of the first such finding, without its full stop; empty where there is none."""
    found = (finding for run in runs for finding in run.findings if wanted(finding))
    finding = next(found, None)
    return "" if finding is None else finding.sentence.removesuffix(".")


def _usual(causes: Sequence[set[str]]) -> list[str]:
    """Those in more than half of the sets."""
    found = [cause for each in causes for cause in each]
    return [cause for cause in CAUSES if 2 * found.count(cause) > len(causes)]


def _most(runs: Sequence[Seen], holds: Callable[[Seen], bool]) -> bool:
    return 2 * sum(map(holds, runs)) > len(runs)
