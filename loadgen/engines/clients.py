"""What the engines over client libraries have in common beside the requests: what they refuse, and what errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadgen.errors import UsageError
from loadgen.outcome import Outcome
from loadgen.plan import Plan

PREPARED: Final = 256
"""Targets for which a library's own form of the request is kept."""


def check(plan: Plan) -> None:
    """Refuses what a client library cannot do honestly.

    Raises:
        UsageError: the plan asks for it.
    """
    if plan.workload.preconnect:
        raise UsageError("--preconnect needs the wire engine")


def os_outcome(error: BaseException, otherwise: Outcome) -> Outcome:
    """The outcome of the first known errno among an error and its causes."""
    for cause in causes(error):
        if isinstance(cause, OSError) and (outcome := Outcome.from_errno(cause.errno)):
            return outcome
    return otherwise


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error, its cause, the cause of that, and so on; also those that `raise ... from None` hides."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
