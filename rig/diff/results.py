"""Two saved results held against each other: which profiles meet, what differs, what became of them; text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loadgen.errors import UsageError
from rig.columns import aligned
from rig.diff.alike import environment_differences, plan_differences
from rig.diff.fail_if import Judged
from rig.diff.figures import Centre, Compared, Figure, FigureDiff, Verdict
from rig.diff.saved import Saved, SavedProfile
from rig.diff.statistics import LEAST_FOR_INTERVAL
from rig.diff.words import change_words, compared_data, notes, number_words, p_words
from rig.names import distinct

SCHEMA: Final = "rig-diff/1"


@dataclass(frozen=True, slots=True)
class ResultDiff:
    """Result B held against result A."""

    a: Saved
    b: Saved
    compared: tuple[Compared, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    differences: tuple[str, ...]
    """What was not alike in environment and plan."""


def diff_results(a: Saved, b: Saved, *, anyway: bool) -> ResultDiff:
    """Every profile that both have.

    Raises:
        UsageError: they have none in common; or they were not measured alike, and it is not to be done `anyway`.
    """
    before, after = _by_name(a), _by_name(b)
    both = [name for name in before if name in after]
    only_a, only_b = (tuple(name for name in names if name not in both) for names in (before, after))
    if not both:
        raise UsageError(
            f"{a.path} and {b.path} have no profile in common: {', '.join(map(named, before)) or 'none'} in the first,"
            f" {', '.join(map(named, after)) or 'none'} in the second"
        )
    differences = [*environment_differences(a.environment, b.environment)]
    for name in both:
        differences += plan_differences(name, before[name].plan, after[name].plan)
    if differences and not anyway:
        listed = "".join(f"\n  {line}" for line in differences)
        raise UsageError(f"not measured alike; --anyway compares them all the same, and says so:{listed}")
    compared = tuple(Compared.of(name, before[name].side, after[name].side) for name in both)
    return ResultDiff(a, b, compared, only_a, only_b, tuple(differences))


def lines(diff: ResultDiff, judged: Sequence[Judged]) -> Iterator[str]:
    """The text: what is compared, with what reserve, a block a profile, and what came of the bounds."""
    yield f"A: {diff.a.path}"
    yield f"B: {diff.b.path}"
    yield from (f"compared anyway, not measured alike: {line}" for line in diff.differences)
    for key, saved, only in (("A", diff.a, diff.only_a), ("B", diff.b, diff.only_b)):
        if not saved.complete:
            yield f"{key} is not complete: it ended early, and what was written until then is compared"
        if only:
            yield f"only in {key}: {', '.join(map(named, only))}"
    for compared in diff.compared:
        yield ""
        if compared.name:
            yield compared.name
        yield from aligned([_HEADING, *map(figure_cells, compared.figures)])
        yield from notes(compared, "A", "B")
        yield from no_interval_note([compared])
    if judged:
        yield ""
        yield from (each.line for each in judged)


def no_interval_note(compared: Sequence[Compared]) -> Iterator[str]:
    """Why an interval is missing, where one is."""
    centres = [centre for each in compared for diff in each.figures for centre in (diff.a, diff.b)]
    if any(0 < centre.runs < LEAST_FOR_INTERVAL for centre in centres):
        yield f"no interval where it says n/a: one of 95 % takes {LEAST_FOR_INTERVAL} runs"


def data(diff: ResultDiff, judged: Sequence[Judged]) -> dict[str, Any]:
    """The JSON object."""
    return {
        "schema": SCHEMA,
        "a": {"path": str(diff.a.path), "complete": diff.a.complete, "environment": diff.a.environment},
        "b": {"path": str(diff.b.path), "complete": diff.b.complete, "environment": diff.b.environment},
        "differences": [*diff.differences],
        "only_a": [*diff.only_a],
        "only_b": [*diff.only_b],
        "profiles": [
            {
                "profile": compared.name,
                **compared_data(compared, "a", "b"),
                "fail_if": [each.data() for each in judged if each.profile == compared.name],
            }
            for compared in diff.compared
        ],
    }


_HEADING: Final = ["figure", "A median", "95 % interval", "B median", "95 % interval", "change", "p", "verdict"]


def figure_cells(diff: FigureDiff) -> list[str]:
    """A figure, the median and its interval of either side, the change, p and the verdict."""
    too_few = diff.verdict is Verdict.TOO_FEW
    return [
        _label(diff.figure), *_centre(diff.a), *_centre(diff.b), change_words(diff),
        p_words(diff).removeprefix("p=").removeprefix("p"),
        "too few runs" if too_few else diff.verdict.value,
    ]  # fmt: skip


def _label(figure: Figure) -> str:
    return {"ms": f"{figure.name}_ms", "/s": f"{figure.name}_rps", "%": f"{figure.name} %"}[figure.unit]


def _centre(centre: Centre) -> tuple[str, str]:
    interval = centre.interval
    within = "n/a" if interval is None else f"{number_words(interval[0])} to {number_words(interval[1])}"
    return number_words(centre.median), within


def named(profile: str) -> str:
    """A profile by its name; one without a name was a URL."""
    return profile or "a URL"


def _by_name(saved: Saved) -> dict[str, SavedProfile]:
    """The profiles by name; one that was measured twice is `async` and `async (2)`."""
    return dict(zip(distinct(profile.name for profile in saved.profiles), saved.profiles, strict=True))
