"""How long tasks will take, about: so that whoever starts them knows. Pure."""

from __future__ import annotations

from math import ceil
from typing import Final

from loadgen.kernel import available_cpus
from rig.tasks.kinds import Kind
from rig.tasks.measure import TasksPlan

_STEP_S: Final = {False: 100e-9, True: 4e-9}
"""An integer step in Python, and in Java."""
_EACH_S: Final = 100e-6
"""To submit a task, at most a thread to make for it."""
_START_S: Final = 0.5
"""An executor's process."""


def tasks_seconds(plan: TasksPlan) -> float:
    """Seconds that all runs take, as far as the work and the executors tell."""
    runs = plan.warmup + plan.runs
    return sum(_START_S + runs * _run_s(plan, kind) for kind in plan.kinds)


def _run_s(plan: TasksPlan, kind: Kind) -> float:
    work, side_by_side = plan.work, kind.workers or plan.tasks
    overhead_s = plan.tasks * _EACH_S
    if work.waits:
        return overhead_s + ceil(plan.tasks / side_by_side) * work.time_s
    cpus = 1 if kind.is_locked else min(available_cpus(), side_by_side)
    each_s = work.time_s if work.is_timed else work.amount * _STEP_S[kind.is_java]
    return overhead_s + plan.tasks * each_s / cpus


def spoken_estimate(seconds: float) -> str:
    """`some seconds`, `about 40 seconds`, `about 3 minutes`."""
    if seconds < 10:
        return "some seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes"
