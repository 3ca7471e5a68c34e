"""The suite over simulated runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.truth.cases import Case, Draw
from tests.truth.judge import Verdict, judge
from tests.truth.scenarios import KINDS

SEED: Final = 20_260_000
"""Rules were reasoned out on other seeds; these are for judging alone."""
MOST_REQUESTS: Final = 3_000
FEW_REQUESTS: Final = 400

RIGHT_BAR: Final = 0.99
LIMIT_BAR: Final = 0.98


def cases(part: float = 1.0, *, seed: int = SEED, most_requests: int = MOST_REQUESTS) -> Iterator[Case]:
    """The runs; `part` of the number of each kind, at least one."""
    for place, (draw_case, runs) in enumerate(KINDS):
        for number in range(max(1, round(part * runs))):
            yield draw_case(Draw(seed + 10_000 * place + number, most_requests))


def verdicts(part: float = 1.0, *, seed: int = SEED, most_requests: int = MOST_REQUESTS) -> list[Verdict]:
    """All of them, judged."""
    return [judge(case) for case in cases(part, seed=seed, most_requests=most_requests)]
