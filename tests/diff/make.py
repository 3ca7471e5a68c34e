"""Runs as their JSON has them, as far as a comparison looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rig.diff.figures import FIGURES, Compared, Side


def a_run(
    number: int,
    ms: float,
    *,
    failed: int = 0,
    requests: int = 100,
    trusted: bool = True,
    interrupted: bool = False,
) -> dict[str, Any]:
    """A run whose every time is `ms`; without an ok request it has none but its wall."""
    ok = requests - failed
    return {
        "run": number,
        "requests": requests,
        "ok": ok,
        "failed": failed,
        "wall_ms": ms,
        "p50_ms": ms if ok else None,
        "p99_ms": ms if ok else None,
        "throughput_rps": ok / ms * 1000,
        "trusted": trusted,
        "interrupted": interrupted,
    }


def runs_of(times_ms: Sequence[float], failed: int = 0) -> list[dict[str, Any]]:
    return [a_run(number, ms, failed=failed) for number, ms in enumerate(times_ms, start=1)]


def side(values: Sequence[float]) -> Side:
    """A side that has these values in every figure."""
    return Side({figure.name: tuple(values) for figure in FIGURES})


def compared(a: Sequence[float], b: Sequence[float], failed: tuple[int, int] = (0, 0), name: str = "async") -> Compared:
    """A profile of these times on either side."""
    return Compared.of(name, Side.of(runs_of(a, failed[0])), Side.of(runs_of(b, failed[1])))
