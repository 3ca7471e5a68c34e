"""The late requests of a load, each with what its connection went through. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from loadgen.explain.rows import Rows
from loadgen.run import Run
from loadgen.samples import MISSING
from loadgen.summary import NS_PER_MS
from rig.columns import aligned
from rig.measured import Measured

_NOTE: Final = (
    "SYNs resent: the queue was full, and the connect waited. Data resent: connected for the client, but not for the"
    " server, whose queue was full when the handshake ended."
)


@dataclass(frozen=True, slots=True)
class Late:
    """A late request and what its connection went through."""

    profile: str
    run: int
    request: int
    connect_ms: float | None
    resent: int | None
    """Everything that was sent again; None where that cannot be seen."""
    data_resent: int | None
    """Of these, what was sent again after the connect: the request itself. The others are SYNs."""
    response_ms: float

    @property
    def syn_resent(self) -> int | None:
        """How often the SYN was sent again."""
        return None if self.resent is None or self.data_resent is None else self.resent - self.data_resent


def late_requests(sides: Sequence[Measured]) -> Iterator[Late]:
    """Every late request, profile by profile and run by run."""
    for side in sides:
        for run in side.runs:
            data_resent = Rows(run.evidence).data_resent
            for row in np.flatnonzero(run.evidence.late):
                yield _late(side.instance.spec, run, int(row), int(data_resent[row]))


def _late(profile: str, run: Run, row: int, data_resent: int) -> Late:
    samples = run.samples
    connected, resent = int(samples.connected[row]), int(samples.resent[row])
    return Late(
        profile,
        run.number,
        row,
        None if connected == MISSING else round((connected - int(samples.begun[row])) / NS_PER_MS, 3),
        None if resent == MISSING else resent,
        None if resent == MISSING else data_resent,
        round(int(samples.response_ns[row]) / NS_PER_MS, 3),
    )


def resent_table(sides: Sequence[Measured], over_ms: int) -> Iterator[str]:
    """The late requests, those of one run that were sent again as often and connected in the same second together."""
    groups: dict[tuple[str, int, int | None, int | None, int | None], list[Late]] = {}
    for late in late_requests(sides):
        second = None if late.connect_ms is None else int(late.connect_ms / 1000)
        groups.setdefault((late.profile, late.run, late.syn_resent, late.data_resent, second), []).append(late)
    specs = [side.instance.spec for side in sides]

    def order(group: tuple[str, int, int | None, int | None, int | None]) -> tuple[int, ...]:
        profile, number, *counts = group
        return specs.index(profile), number, *(count or 0 for count in counts)

    if not groups:
        yield f"no request was late (over {over_ms} ms)"
        return
    rows = [["profile", "run", f"over{over_ms}ms", "SYNs resent", "data resent", "connect_ms", "response_ms"]]
    for group in sorted(groups, key=order):
        profile, number, syns, data, _ = group
        of_group = groups[group]
        connects = [late.connect_ms for late in of_group if late.connect_ms is not None]
        responses = [late.response_ms for late in of_group]
        counts = ["n/a" if count is None else f"{count} each" for count in (syns, data)]
        rows.append([profile, str(number), str(len(of_group)), *counts, _range(connects), _range(responses)])
    yield from aligned(rows)
    if any(late.resent for group in groups.values() for late in group):
        yield _NOTE


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}" if values else "never"
