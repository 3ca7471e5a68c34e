"""Carries a comparison out as commands do: a progress line on a terminal, a note where a server ends by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack

from loadgen.command import tell
from rig.compare import Comparison


def carry_out(comparison: Comparison, *, sequential: bool = False, after_run: Callable[[], None] | None = None) -> bool:
    """Carries the runs out, with a call of `after_run` as each ends; returns whether that was interrupted."""
    with ExitStack() as stack:
        progress = None
        if sys.stderr.isatty():
            from loadgen.progress import ProgressLine

            plan = comparison.measured[0].plan
            progress = stack.enter_context(
                ProgressLine(len(comparison.measured) * (plan.warmup + plan.runs), duration_s=plan.workload.duration_s)
            )
        try:
            for run in comparison.runs(sequential=sequential, progress=progress):
                _report_dead(comparison)
                if after_run is not None:
                    after_run()
                if run.interrupted:
                    return True
        except KeyboardInterrupt:  # between two runs
            return True
    return False


def _report_dead(comparison: Comparison) -> None:
    for server in comparison.newly_dead():
        tail = server.log_tail()
        told = f"; the end of its log:\n{tail}" if tail else ", and its log is empty"
        tell(f"rig: {server.instance.spec} ended by itself{told}")
