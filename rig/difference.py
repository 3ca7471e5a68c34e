"""What one profile changed against another, in one sentence: the change, what became of the waves, the medians."""

from __future__ import annotations

from loadgen.explain.runs import waves_of_runs
from rig.measured import Measured
from servers.profile import spoken


def difference(base: Measured, other: Measured) -> str:
    """`Raising threads from 200 to 400 turned 2 waves into 1: median wall 2,090 ms -> 1,060 ms`."""
    medians = f"median wall {_ms(base.median_ms('wall'))} -> {_ms(other.median_ms('wall'))}"
    return f"{_change(base, other)} {_effect(base, other)}: {medians}"


def _change(base: Measured, other: Measured) -> str:
    """What is different about the other: the one knob, or the profile."""
    a, b = base.instance, other.instance
    if a.profile is b.profile:
        knobs = [name for name in a.values if a.values[name] != b.values[name]]
        if len(knobs) == 1:
            before, after = a.values[knobs[0]], b.values[knobs[0]]
            verb = "Changing"
            if isinstance(before, int) and isinstance(after, int) and not isinstance(before, bool):
                verb = "Raising" if after > before else "Lowering"
            return f"{verb} {knobs[0]} from {spoken(before)} to {spoken(after)}"
        if not knobs:
            return f"Measuring {b.spec} twice"
    return f"Going from {a.spec} to {b.spec}"


def _effect(base: Measured, other: Measured) -> str:
    """What became of the waves and of the late requests."""
    before, after = waves_of_runs(base.findings), waves_of_runs(other.findings)
    if before is None or after is None:
        late = f"{_count(base.median_late)} -> {_count(other.median_late)}"
        return f"changed the late requests {late}"
    if before == after:
        return f"left it at {before} wave{'' if before == 1 else 's'}"
    return f"turned {before} wave{'' if before == 1 else 's'} into {after}"


def _ms(value: float | None) -> str:
    return "n/a" if value is None else f"{int(value + 0.5):,} ms"


def _count(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.0f}"
