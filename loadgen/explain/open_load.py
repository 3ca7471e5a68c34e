"""What an open run tells of the server: whether it kept up with arrivals, and if not, how many it works on at once.

| completions | the server's CPU | response times | cause |
|---|---|---|---|
| kept up | not all used | alike | `overlapped` |
| fell behind | all used, and more than one at work | | `cpu-shared` |
| fell behind | | of one place | `serial` |
| fell behind | not all used or not seen | of a limit | `concurrency-limit` or `connection-limit` |
| fell behind | | other | `unexplained` |

In all other cases there is no finding: a queue that comes and goes with chance, a load that is not of one rate, a
stand-still, requests given up, turned away or sent again. The cause is told by others, or is not to be told.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loadgen.explain.backlog import Backlog, capacity_rps
from loadgen.explain.cpu_shared import bound_clause, busy_clause
from loadgen.explain.evidence import count_of, milliseconds
from loadgen.explain.finding import Finding
from loadgen.explain.fit import Fit
from loadgen.explain.limits import unseen_resends
from loadgen.explain.places import WHOLE
from loadgen.explain.reading import LEAST_SERVICE_NS, Reading
from loadgen.explain.shape import held_shape
from loadgen.explain.stall import held_by_stalls
from loadgen.explain.words import counted, spoken_ms
from loadgen.outcome import Outcome

BEHIND: Final = 0.05
"""Of the arrivals; by less a rate may be beyond the capacity by chance alone."""
_LONGER: Final = 1.2
"""Times the first ones'; who took no longer did not wait."""
_SHORTER: Final = 0.7
_FEW: Final = 0.002
_FIRST: Final = 5


def find(reading: Reading) -> Finding | None:
    """The finding, where the run tells enough for one."""
    backlog = reading.backlog
    if backlog is None or not backlog.is_even or _is_disturbed(reading):
        return None
    if not backlog.grows:
        return _kept_up(reading, backlog)
    if backlog.growth_rps < BEHIND * backlog.arrival_rps:
        return None
    if reading.fit is None and backlog.growth < backlog.at_first:  # no more than what chance may do for a while
        return None
    return _fell_behind(reading, backlog)


def _is_disturbed(reading: Reading) -> bool:
    """Whether anything but places and work made requests late."""
    begun = count_of(reading.evidence.begun)
    return (
        count_of(reading.served) < WHOLE * begun
        or begun < len(reading.evidence.samples)
        or bool((reading.evidence.samples.outcome == Outcome.CLIENT).any())
        or bool(reading.resent.any())
        or bool(held_by_stalls(reading).any())
    )


def _kept_up(reading: Reading, backlog: Backlog) -> Finding | None:
    response_ns = (reading.evidence.samples.done - reading.arrival_ns)[reading.served]
    median_ns = float(np.median(response_ns))
    longer = count_of(response_ns > _LONGER * _first_ns(reading))
    if (
        median_ns < LEAST_SERVICE_NS
        or reading.is_saturated
        or longer > _FEW * len(response_ns)
        or response_ns.min() < _SHORTER * median_ns
    ):
        return None
    low, high = (float(value) for value in np.quantile(response_ns, (0.05, 0.95)))
    waited = "none waited" if not longer else f"only {longer:,} of {len(response_ns):,} took longer"
    return Finding(
        cause="overlapped",
        requests=len(response_ns),
        sentence=(
            f"the server kept up with {backlog.arrival_rps:,.0f}/s: about {max(backlog.mean, 1):,.0f} under way at"
            f" once, {spoken_ms(low)} to {spoken_ms(high)} each; {waited}."
        ),
        evidence={**_facts(reading, backlog), "longer": longer},
        details={
            "service_ms": milliseconds(median_ns),
            "service_range_ms": [milliseconds(low), milliseconds(high)],
        },
    )


def _fell_behind(reading: Reading, backlog: Backlog) -> Finding:
    completed = capacity_rps(reading.evidence.samples.done[reading.served])
    facts = {**_facts(reading, backlog), "completions_per_s": round(completed, 1)}
    fit, cores = reading.fit, reading.server_cores
    late, details = _longer_than_first(reading), {}
    if fit is not None and fit.median_ns >= LEAST_SERVICE_NS and (fit.limit == 1 or not reading.is_saturated):
        cause, why = _by_places(reading, fit)
        late = count_of(reading.waited)
        details = {"limit": fit.limit, "waves": [], "service_ms": milliseconds(fit.median_ns)}
        facts["spread"] = round(fit.spread, 4)
    elif reading.is_saturated and cores is not None:
        cause = "cpu-shared"
        why = f"{busy_clause(reading, cores)}{bound_clause(reading, cores)}; all took longer and longer"
    else:
        cause = "unexplained"
        why = "the others waited, longer and longer; their times do not tell on how many it works at once"
    came = f"requests came at {backlog.arrival_rps:,.0f}/s and the server completed {completed:,.0f}/s"
    return Finding(cause=cause, requests=late, sentence=f"{came}: {why}.", evidence=facts, details=details)


def _by_places(reading: Reading, fit: Fit) -> tuple[str, str]:
    """The cause, and what the server does, for a limit that is sure."""
    each, doubt = f"about {spoken_ms(fit.median_ns)} each", ""
    if fit.limit == 1:
        cause, what = "serial", f"it works on one request at a time, {each}"
        if reading.is_saturated:
            what += "; its CPU was busy all the time"
        elif reading.server_cores is None:
            doubt = " (or all shared its CPU: its CPU time would tell)"
    elif (cause := held_shape(reading)) == "connection-limit":
        what = f"it accepts no more than {counted(fit.limit, 'connection')} at once, {each}"
    else:
        what = f"it works on {counted(fit.limit, 'request')} at once, {each}"
        if not reading.evidence.server.queue:
            doubt = (
                f" (or it accepts no more than {fit.limit:,} connections at once:"
                " the length of its accept queue during the run would tell)"
            )
    return cause, f"{what}; the others waited, longer and longer{doubt}{unseen_resends(reading)}"


def _longer_than_first(reading: Reading) -> int:
    """How many took clearly longer than the first ones."""
    response_ns = (reading.evidence.samples.done - reading.arrival_ns)[reading.served]
    return count_of(response_ns > _LONGER * _first_ns(reading))


def _first_ns(reading: Reading) -> float:
    """The median of the first ones, which met no queue."""
    response_ns = (reading.evidence.samples.done - reading.arrival_ns)[reading.served]
    return float(np.median(response_ns[: max(_FIRST, len(response_ns) // 50)]))


def _facts(reading: Reading, backlog: Backlog) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "arrivals_per_s": round(backlog.arrival_rps, 1),
        "under_way": round(backlog.mean, 1),
        "growth_per_s": round(backlog.growth_rps, 2),
    }
    if reading.server_cores is not None:
        facts["server_cores"] = round(reading.server_cores, 2)
    return facts
