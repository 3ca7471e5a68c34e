"""Which entries a run of a scenario has: those chosen, less those whose server cannot run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scenarios.errors import ScenarioError
from scenarios.scenario import Ask, Entry, Load, Predicted, Published, Scenario, Step, Tasks
from servers.catalog import Instance, Profile, parse_spec
from servers.errors import RuntimeMissing


@dataclass(frozen=True, slots=True)
class Choice:
    """What a user chose in place of what the file says; None and empty: the file's."""

    n: int | None = None
    runs: int | None = None
    warmup: int | None = None
    profiles: tuple[str, ...] = ()

    def applied(self, scenario: Scenario, catalog: Mapping[str, Profile]) -> Scenario:
        """The scenario as it was chosen, of the profiles in the catalog.

        Raises:
            ScenarioError: it has no step with what was chosen.
            servers.errors.UsageError: there is no such profile.
        """
        for spec in self.profiles:
            parse_spec(spec, catalog)
        loads = any(isinstance(step, Load) for step in scenario.steps)
        if self.n is not None and not loads:
            raise ScenarioError(f"--n is not accepted by {scenario.name}: it fires no load")
        if self.runs is not None and not any(isinstance(step, Load | Tasks) for step in scenario.steps):
            raise ScenarioError(f"--runs is not accepted by {scenario.name}: it has no runs")
        if self.warmup is not None and not any(isinstance(step, Load | Tasks) for step in scenario.steps):
            raise ScenarioError(f"--warmup is not accepted by {scenario.name}: it has no runs")
        if self.profiles and not any(isinstance(step, Load | Ask) for step in scenario.steps):
            raise ScenarioError(f"--profiles is not accepted by {scenario.name}: it starts no servers")
        # Steps that differed in the number of requests alone are the same now.
        return replace(scenario, steps=tuple(dict.fromkeys(self._chosen(step) for step in scenario.steps)))

    def _chosen(self, step: Step) -> Step:
        if self.profiles and isinstance(step, Load | Ask):
            known = {entry.spec: entry for entry in step.entries}
            step = replace(step, entries=tuple(known.get(spec, Entry(spec)) for spec in self.profiles))
        if self.runs is not None and isinstance(step, Load | Tasks):
            step = replace(step, runs=self.runs)
        if self.warmup is not None and isinstance(step, Load | Tasks):
            step = replace(step, warmup=self.warmup)
        if self.n is not None and isinstance(step, Load):
            burst = step.n == step.concurrency
            entries = step.entries if step.n == self.n else tuple(map(_of_another_size, step.entries))
            concurrency = self.n if burst else min(step.concurrency, self.n)
            step = replace(step, n=self.n, concurrency=concurrency, entries=entries)
        return step


def _of_another_size(entry: Entry) -> Entry:
    """The entry without the figures that belong to the file's number of requests."""
    stated = entry.predicted
    return replace(
        entry,
        predicted=Predicted(limit=stated.limit, causes=stated.causes, answer=stated.answer),
        published=Published(note=entry.published.note),
    )


@dataclass(frozen=True, slots=True)
class Available:
    """A step as far as it can be carried out here."""

    step: Load | Ask
    instances: tuple[Instance, ...]
    """One an entry."""
    left_out: tuple[str, ...]
    """A line each."""


def available(step: Load | Ask, catalog: Mapping[str, Profile]) -> Available:
    """The step with those entries whose servers can run here, and why the others cannot.

    Raises:
        servers.errors.UsageError: a spec is not accepted.
    """
    entries: list[Entry] = []
    instances: list[Instance] = []
    left_out: list[str] = []
    for entry in step.entries:
        try:
            instance = parse_spec(entry.spec, catalog)
            instance.require_runtime()
        except RuntimeMissing as missing:
            left_out.append(f"left out: {missing}")
        else:
            instances.append(instance)
            entries.append(entry)
    return Available(replace(step, entries=tuple(entries)), tuple(instances), tuple(left_out))
