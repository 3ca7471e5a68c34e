"""A comparison in words and as plain data: what `rig diff` and `rig compare` have in common. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from rig.diff.figures import Centre, Compared, FigureDiff, Side, Unfit, Verdict
from rig.diff.statistics import LEAST_RUNS, SIGNIFICANT

_REASONS: Final = {
    Unfit.INTERRUPTED: "interrupted",
    Unfit.UNTRUSTED: "the generator was the bottleneck",
}


def change_words(diff: FigureDiff) -> str:
    """`-39.6%`; `+12 points` where a part of requests was 0 before; `n/a` where a side has no value."""
    percent, change = diff.change_percent, diff.change
    if percent is not None:
        return f"{percent:+.1f}%" if percent else "0%"
    if change is None:
        return "n/a"
    return f"{change:+.3g} {'points' if diff.figure.unit == '%' else diff.figure.unit}"


def p_words(diff: FigureDiff) -> str:
    """`p=0.0286`."""
    if diff.p is None:
        return "p=n/a"
    return "p<0.001" if diff.p < 0.001 else f"p={diff.p:.3g}"


def number_words(value: float | None) -> str:
    """A figure with three digits or more."""
    if value is None:
        return "n/a"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def too_few_words(diff: FigureDiff) -> str:
    """`too few runs to tell (3 a side; 4 is the least at which p < 0.05 can be reached)`."""
    a, b = diff.a.runs, diff.b.runs
    least = f"{LEAST_RUNS} is the least at which p < {SIGNIFICANT} can be reached"
    if a == b:
        return f"{Verdict.TOO_FEW} ({a} a side; {least})"
    return f"{Verdict.TOO_FEW} ({a} and {b}; of as many a side, {least})"


def notes(compared: Compared, a_name: str, b_name: str) -> Iterator[str]:
    """What a reader must know beside the figures: runs left out, figures with too few runs."""
    yield from _left_out_lines(a_name, compared.a)
    yield from _left_out_lines(b_name, compared.b)
    few = [diff for diff in compared.figures if diff.verdict is Verdict.TOO_FEW]
    for reason, group in groupby(few, too_few_words):
        of_reason = list(group)
        alone = "" if len(of_reason) == len(compared.figures) else _listed([diff.figure.name for diff in of_reason])
        yield f"{b_name}{f', {alone}' if alone else ''}: {reason}"
    failed = next(diff for diff in compared.figures if diff.figure.name == "failed")
    if failed.a.median or failed.b.median:
        yield (
            f"{b_name}: requests failed ({number_words(failed.a.median)} % and {number_words(failed.b.median)} %):"
            " p50, p99 and throughput are of the others"
        )


def compared_data(compared: Compared, a_key: str, b_key: str) -> dict[str, Any]:
    """The figures and the runs left out, as plain data; the sides by these keys."""
    return {
        "figures": {diff.figure.name: _figure_data(diff, a_key, b_key) for diff in compared.figures},
        "left_out": [
            {"side": key, "run": run, "reason": reason.value}
            for key, side in ((a_key, compared.a), (b_key, compared.b))
            for run, reason in side.left_out
        ],
    }


def _figure_data(diff: FigureDiff, a_key: str, b_key: str) -> dict[str, Any]:
    return {
        "unit": diff.figure.unit,
        a_key: _centre_data(diff.a),
        b_key: _centre_data(diff.b),
        "change": _rounded(diff.change),
        "change_percent": _rounded(diff.change_percent),
        "p": diff.p,
        "verdict": diff.verdict.value,
    }


def _centre_data(centre: Centre) -> dict[str, Any]:
    interval = centre.interval
    return {
        "runs": centre.runs,
        "median": _rounded(centre.median),
        "interval": None if interval is None else [_rounded(end) for end in interval],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _left_out_lines(name: str, side: Side) -> Iterator[str]:
    for reason in Unfit:
        runs = [str(run) for run, why in side.left_out if why is reason]
        if runs:
            yield f"{name}: run{'' if len(runs) == 1 else 's'} {_listed(runs)} left out: {_REASONS[reason]}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
