"""A comparison, or a scenario, into a run folder, as it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadgen.plan import Plan
from loadgen.run_folder import RunFolder
from loadgen.saving import SaveOptions
from loadgen.store import extra_columns
from rig.diff.fail_if import FailIf
from rig.measured import Measured
from rig.render import comparisons_data, profiles_data
from rig.scenario.choice import available
from rig.scenario.loads import LoadOutcome, plan_of
from rig.scenario.outcome import Outcome
from rig.scenario.report import printed, steps_data, verdicts_data
from scenarios.scenario import Ask, Load, Scenario
from servers.catalog import Instance, Profile


def open_folder(options: SaveOptions, instances: Sequence[Instance], plan: Plan) -> RunFolder:
    """A new folder for a comparison of these.

    Raises:
        loadgen.errors.UsageError: the name is not accepted.
        loadgen.errors.FolderError: the folder cannot be made.
    """
    names = [instance.profile.name for instance in instances]
    extra, runtimes = extra_columns(plan), runtime_versions(instances)
    return options.open("rig", "compare", names, redact=plan.redact, extra=extra, runtimes=runtimes)


def open_scenario_folder(
    options: SaveOptions, scenario: Scenario, catalog: Mapping[str, Profile], redact: tuple[str, ...]
) -> RunFolder:
    """A new folder for a scenario of profiles in the catalog. Raises as `open_folder` does."""
    plans = [plan_of(step, "http://127.0.0.1") for step in scenario.steps if isinstance(step, Load)]
    extra = tuple(dict.fromkeys(column for plan in plans for column in extra_columns(plan)))
    at_servers = [step for step in scenario.steps if isinstance(step, Load | Ask)]
    instances = [instance for step in at_servers for instance in available(step, catalog).instances]
    runtimes = runtime_versions(instances)
    return options.open("rig", "run", [scenario.name], redact=redact, extra=extra, runtimes=runtimes)


def runtime_versions(instances: Sequence[Instance]) -> dict[str, str]:
    """The version of each runtime that is not this Python and that one of these is on, by the runtime's name."""
    runtimes = [instance.profile.runtime for instance in instances if instance.profile.runtime is not None]
    return {runtime.name: runtime.find().version for runtime in dict.fromkeys(runtimes)}


class _Runs:
    """The runs that are in a folder."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._added: set[tuple[int, int]] = set()

    def add(self, measured: Iterable[Measured]) -> bool:
        """Adds the rows of those that are not in it yet; returns whether there were any."""
        before = len(self._added)
        for index, entry in enumerate(measured):
            for run in entry.runs:
                if (index, run.number) not in self._added:
                    self.folder.add(run, entry.instance.spec)
                    self._added.add((index, run.number))
        return len(self._added) > before

    def keep(self, body: dict[str, Any], measured: Iterable[Measured]) -> None:
        """Writes what is to be said of them."""
        self.folder.keep(
            body, (((entry.instance.spec, run.number), run.evidence) for entry in measured for run in entry.runs)
        )


class Saving:
    """Keeps what has been measured so far of a comparison in a folder."""

    def __init__(self, folder: RunFolder, measured: Sequence[Measured]) -> None:
        """`measured` fills as the comparison goes on."""
        self._runs, self._measured = _Runs(folder), measured

    def keep(self) -> None:
        """Adds the runs that have ended since the last call. What they come to beside each other is left to the end."""
        if self._runs.add(self._measured):
            self._write()

    def finish(self, fail_if: Sequence[FailIf] = (), *, complete: bool) -> None:
        """Keeps the rest, and what was found out last."""
        self.keep()
        if any(entry.runs for entry in self._measured):
            self._write(comparisons_data(self._measured, fail_if))
        self._runs.folder.finish(complete=complete)

    def _write(self, comparisons: Sequence[dict[str, Any]] = ()) -> None:
        body = {"profiles": profiles_data(self._measured), "comparisons": [*comparisons]}
        self._runs.keep(body, self._measured)


class ScenarioSaving:
    """Keeps what has been carried out so far of a scenario in a folder."""

    def __init__(self, folder: RunFolder, scenario: Scenario, heading: Sequence[str]) -> None:
        """`heading`: what was printed before the first step."""
        self._runs, self._scenario, self._heading = _Runs(folder), scenario, heading

    def keep(self, outcomes: Sequence[Outcome], left_out: Sequence[str]) -> None:
        """Adds the runs that have ended since the last call. How they are judged is left to the end."""
        if self._runs.add(_sides(outcomes)):
            self._write(outcomes, left_out, {}, interrupted=None)

    def finish(self, outcomes: Sequence[Outcome], left_out: Sequence[str], *, interrupted: bool, ended: bool) -> None:
        """Keeps the rest, and the verdicts; `ended`: all steps were carried out."""
        sides = _sides(outcomes)
        self._runs.add(sides)
        if any(side.runs for side in sides) or any(outcome.measured for outcome in outcomes):
            self._write(outcomes, left_out, verdicts_data(outcomes), interrupted=interrupted)
        self._runs.folder.finish(complete=ended)

    def _write(
        self,
        outcomes: Sequence[Outcome],
        left_out: Sequence[str],
        verdicts: dict[str, Any],
        *,
        interrupted: bool | None,
    ) -> None:
        text = {
            name: [*self._heading, *printed(self._scenario, outcomes, quiet=quiet, interrupted=interrupted)]
            for name, quiet in (("all", False), ("quiet", True))
        }
        body = steps_data(self._scenario, outcomes, left_out) | verdicts | {"printed": text}
        self._runs.keep(body, _sides(outcomes))


def _sides(outcomes: Sequence[Outcome]) -> list[Measured]:
    """What was fired at, step after step."""
    return [side for outcome in outcomes if isinstance(outcome, LoadOutcome) for side in outcome.sides]
