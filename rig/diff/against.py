"""The profiles of one comparison, each held against the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from loadgen.render.document import run_data
from rig.diff.figures import FIGURES, Compared, FigureDiff, Side, Verdict
from rig.diff.words import change_words, notes, p_words

if TYPE_CHECKING:
    from rig.measured import Measured


def against_first(measured: Sequence[Measured]) -> list[Compared]:
    """Each profile but the first against the first, in their order."""
    base, *others = (Side.of(run_data(run, entry.plan) for run in entry.runs) for entry in measured)
    specs = [entry.instance.spec for entry in measured[1:]]
    return [Compared.of(spec, base, other) for spec, other in zip(specs, others, strict=True)]


def against_rows(base: str, compared: Sequence[Compared]) -> list[list[str]]:
    """The cells of a table: a heading, and a row a profile with change, p and verdict of each figure."""
    return [
        [f"against {base}", *(figure.name for figure in FIGURES)],
        *([each.name, *map(_cell, each.figures)] for each in compared),
    ]


def against_notes(base: str, compared: Sequence[Compared]) -> Iterator[str]:
    """What is to be known beside that table, each once."""
    yield from dict.fromkeys(note for each in compared for note in notes(each, base, each.name))


def _cell(diff: FigureDiff) -> str:
    if diff.verdict is Verdict.TOO_FEW:
        return change_words(diff)
    return f"{change_words(diff)} {p_words(diff)} {diff.verdict}"
