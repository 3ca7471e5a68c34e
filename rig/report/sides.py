"""What is held against each other on a page: the profiles of all its saved runs, each with its own name and figures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.errors import DataError
from loadgen.samples import Samples
from rig.names import distinct
from rig.report import median
from rig.runs.saved import SavedProfile, SavedRun, SavedRunOfProfile


@dataclass(frozen=True, slots=True)
class Side:
    """A profile of a saved run."""

    label: str
    """Its own on the page."""
    saved: SavedRun
    profile: SavedProfile

    samples: Mapping[int, Samples]
    """By the number of the run; none of a run whose rows were not all kept."""

    @property
    def whole_runs(self) -> list[SavedRunOfProfile]:
        """Those that were not interrupted."""
        return [run for run in self.profile.runs if not run.data["interrupted"]]

    @property
    def middle_run(self) -> SavedRunOfProfile | None:
        """The run whose wall is the median one, the lower of two; where there are others, none that was interrupted or
        refused altogether."""
        answered = [run for run in self.whole_runs if run.data["ok"]]
        runs = [run for run in answered or self.whole_runs or self.profile.runs if run.data["wall_ms"] is not None]
        runs.sort(key=lambda run: run.data["wall_ms"])
        return runs[(len(runs) - 1) // 2] if runs else None

    def values(self, figure: str) -> list[float]:
        """The figure of each whole run that has it; where no request was ok, there is no wall to speak of."""
        return [
            run.data[figure]
            for run in self.whole_runs
            if run.data[figure] is not None and (run.data["ok"] or figure != "wall_ms")
        ]

    def median(self, figure: str) -> median.Median | None:
        """The median of a figure over the whole runs."""
        return median.of_runs(self.values(figure))

    @property
    def findings(self) -> Sequence[tuple[int, Mapping[str, Any]]]:
        """Each finding with the number of its run."""
        return [(run.number, finding) for run in self.profile.runs for finding in run.data["findings"]]


def sides(saved: Sequence[SavedRun]) -> list[Side]:
    """Every profile, in order; where several saved runs are shown, or a name comes twice, its run stands before it."""
    found = [
        (f"{run.result['name']}: {name(profile)}" if len(saved) > 1 else name(profile), run, profile)
        for run in saved
        for profile in run.profiles
    ]
    labels = distinct(label for label, _, _ in found)
    return [
        Side(label, run, profile, dict(_samples(profile)))
        for label, (_, run, profile) in zip(labels, found, strict=True)
    ]


def name(profile: SavedProfile) -> str:
    """The spec, or the URL where no profile of ours was measured; after its step, where it is of a scenario."""
    named = profile.spec or str(profile.plan["url"])
    return f"{profile.step}: {named}" if profile.step else named


def _samples(profile: SavedProfile) -> Iterator[tuple[int, Samples]]:
    for run in profile.runs:
        with contextlib.suppress(DataError):
            yield run.number, run.samples
