"""Findings of a run of which only the last rows were kept: what those tell is said to be theirs alone.

What was counted of all requests (time-outs, retransmissions) is a finding of the whole run, wherever in it that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from loadgen.explain.finding import Finding
from loadgen.explain.words import counted, joined
from loadgen.outcome import Outcome
from loadgen.tally import Tally

_OF_ALL: Final = ("timeout", "accept-queue")


def findings_of(tally: Tally, of_last: Iterable[Finding], last: int) -> Iterator[Finding]:
    """The findings of the whole run, from its tally and from those of its `last` rows."""
    for finding in of_last:
        if finding.cause == "client":  # speaks of the whole run already
            yield finding
        elif finding.cause not in _OF_ALL:
            evidence = finding.evidence | {"rows_kept": last}
            yield replace(finding, sentence=f"of the last {last:,} requests: {finding.sentence}", evidence=evidence)
    for whole in (_timeout(tally), _resent(tally)):
        if whole is not None:
            yield whole


def _timeout(tally: Tally) -> Finding | None:
    kinds = ((Outcome.CONNECT_TIMEOUT, "while connecting"), (Outcome.TIMEOUT, "while waiting for the response"))
    counts = {place: tally.outcomes[outcome] for outcome, place in kinds if tally.outcomes[outcome]}
    total = sum(counts.values())
    if not total:
        return None
    places = joined([f"{count:,} {place}" for place, count in counts.items()])
    return Finding(
        cause="timeout",
        requests=total,
        sentence=f"{counted(total, 'request')} had not ended when their time was up, and were given up: {places}.",
        evidence={"connecting": tally.outcomes[Outcome.CONNECT_TIMEOUT], "later": tally.outcomes[Outcome.TIMEOUT]},
    )


def _resent(tally: Tally) -> Finding | None:
    if not tally.resent:
        return None
    what = counted(tally.resent, "request had something", "requests had something")
    return Finding(
        cause="accept-queue",
        requests=tally.resent,
        sentence=(
            f"{what} sent again on their connection, in the run as a whole: the server's accept queue was full, or"
            " packets were lost on the way; their rows (--samples) would tell which."
        ),
        evidence={"resent": tally.resent, "seen_by": "TCP_INFO"},
    )
