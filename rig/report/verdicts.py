"""What came of holding runs against each other, or against a prediction: the tables of verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.errors import UsageError
from rig.diff.again import compared_again
from rig.diff.figures import Compared
from rig.diff.results import diff_results, figure_cells, named, no_interval_note
from rig.diff.saved import read_saved
from rig.diff.words import notes
from rig.report.figures import Table
from rig.runs.saved import SavedRun


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One side held against others.

    Attributes:
        table: its last column is the verdict; None where nothing could be compared.
        notes: what must be known beside it.
    """

    title: str
    table: Table | None
    notes: tuple[str, ...]


def verdicts(saved: Sequence[SavedRun]) -> Iterator[Verdicts]:
    """Of each run its own, then each run but the first against the first, as `rig diff` does."""
    for run in saved:
        before = f"{run.result['name']}: " if len(saved) > 1 else ""
        compared = compared_again(run.result)
        if compared:
            base = run.result["profiles"][0]["profile"]
            said = dict.fromkeys(note for each in compared for note in notes(each, base, each.name))
            yield _verdicts(f"{before}Against {base}", compared, "base", "profile", [*said])
        if rows := run.result.get("rows"):
            yield _predictions(f"{before}Held against the prediction", rows)
    for run in saved[1:]:
        yield _between(saved[0], run)


def _between(a: SavedRun, b: SavedRun) -> Verdicts:
    """Run B against run A, whether they were measured alike or not; where not, that is said."""
    title = f"{b.path.name} (B) against {a.path.name} (A)"
    try:
        diff = diff_results(read_saved(a.path), read_saved(b.path), anyway=True)
    except UsageError as error:
        return Verdicts(title, None, (str(error),))
    said = [f"compared anyway, not measured alike: {line}" for line in diff.differences]
    said += [
        f"only in {key}: {', '.join(map(named, only))}"
        for key, only in (("A", diff.only_a), ("B", diff.only_b))
        if only
    ]
    for compared in diff.compared:
        before = f"{compared.name}: " if len(diff.compared) > 1 else ""
        said += [f"{before}{note}" for note in notes(compared, "A", "B")]
    return _verdicts(title, diff.compared, "A", "B", said)


def _verdicts(title: str, compared: Sequence[Compared], a: str, b: str, said: list[str]) -> Verdicts:
    header = ("profile", "figure", f"{a} median", "95 % interval", f"{b} median", "95 % interval")
    rows = tuple((named(each.name), *figure_cells(diff)) for each in compared for diff in each.figures)
    return Verdicts(title, Table((*header, "change", "p", "verdict"), rows), (*said, *no_interval_note(compared)))


def _predictions(title: str, rows: Sequence[dict[str, Any]]) -> Verdicts:
    columns = ("profile", "step", "published", "predicted", "measured", "verdict")
    table = Table(columns, tuple(tuple(row[column] for column in columns) for row in rows))
    said = (f"{row['profile']} ({row['step']}): {row['sentence']}." for row in rows if row["sentence"])
    return Verdicts(title, table, tuple(said))
