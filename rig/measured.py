"""A profile and what was measured of it, as a value: of a comparison that lasts, or of a saved one."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from loadgen.explain import Finding
from loadgen.plan import Plan
from loadgen.run import Run
from loadgen.summary import in_ms
from servers.catalog import Instance


@dataclass(frozen=True, slots=True)
class Measured:
    """A profile and its runs so far."""

    instance: Instance
    plan: Plan
    runs: list[Run] = field(default_factory=list)

    def median_ms(self, figure: str) -> float | None:
        """The median over the runs of `wall`, or of a response time such as `p50`; in ms; None: no whole run has it."""
        values = [
            run.summary.wall_ns if figure == "wall" else getattr(run.summary.times, f"{figure}_ns", None)
            for run in self._whole_runs
            if run.summary.ok
        ]
        known = [in_ms(value) for value in values if value is not None]
        return median(known) if known else None

    @property
    def median_late(self) -> float | None:
        """The median number of late requests a run; None where there is no whole run."""
        return median(run.summary.over for run in self._whole_runs) if self._whole_runs else None

    @property
    def findings(self) -> list[tuple[Finding, ...]]:
        """The findings of each whole run."""
        return [run.findings for run in self._whole_runs]

    @property
    def _whole_runs(self) -> list[Run]:
        """Those that were not interrupted: the wall and the lateness of the other say when Ctrl-C came, no more."""
        return [run for run in self.runs if not run.interrupted]
