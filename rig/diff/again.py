"""What `rig compare` made of its profiles' runs, from a saved run: p and verdicts were kept, and are not made anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rig.diff.figures import FIGURES, Centre, Compared, FigureDiff, Side, Verdict


def compared_again(result: Mapping[str, Any]) -> list[Compared]:
    """Each profile but the first against the first, as far as that was kept, of a result.json.

    Raises:
        KeyError: it is not what it should be.
    """
    comparisons = result.get("comparisons", ())
    sides = [Side.of(entry["runs"]) for entry in result.get("profiles", ())]
    return [
        Compared(comparison["profile"], sides[0], side, tuple(_figure_diffs(sides[0], side, comparison["figures"])))
        for side, comparison in zip(sides[1:], comparisons, strict=False)
        if "figures" in comparison
    ]


def _figure_diffs(a: Side, b: Side, data: Mapping[str, Any]) -> Iterator[FigureDiff]:
    for figure in FIGURES:
        centres = Centre.of(a.values[figure.name]), Centre.of(b.values[figure.name])
        yield FigureDiff(figure, *centres, data[figure.name]["p"], Verdict(data[figure.name]["verdict"]))
