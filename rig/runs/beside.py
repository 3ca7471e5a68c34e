"""Two saved runs beside each other: the medians of each profile, then and now."""

from __future__ import annotations

from collections.abc import Iterator

from rig.columns import aligned
from rig.runs.again import measured_again
from rig.runs.saved import SavedRun

_FIGURES = ("wall", "p50", "p99")


def lines(old: SavedRun, new: SavedRun) -> Iterator[str]:
    """A line a profile and figure; profiles that only one of them has are left out."""
    rows = [["profile", "median", "then", "now", "change"]]
    for before, after in zip(old.profiles, new.profiles, strict=False):
        if before.spec == after.spec:
            then, now = measured_again(before), measured_again(after)
            for figure in _FIGURES:
                pair = then.median_ms(figure), now.median_ms(figure)
                rows.append([before.spec, f"{figure}_ms", *map(_whole, pair), _change(*pair)])
    yield f"{old.path.name}, and again in {new.path.name}:"
    yield from aligned(rows)


def _whole(value: float | None) -> str:
    return "n/a" if value is None else str(int(value + 0.5))


def _change(then: float | None, now: float | None) -> str:
    return "n/a" if not then or now is None else f"{100 * (now - then) / then:+.1f} %"
