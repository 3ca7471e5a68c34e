"""Throughput over users -> where it flattens, with an interval. Pure.

Two models, of which the one that fits better is taken (by Akaike's criterion):

    USL     X(N) = l N / (1 + a (N - 1) + b N (N - 1)): Gunther's Universal Scalability Law; a is the cost of waiting
            for each other, b that of keeping each other up to date. Where b > 0 there is a peak at sqrt((1 - a) / b).
    bounds  X(N) = min(l N, C): users of a server with so many places, who wait where all are taken, and do not slow
            each other down. (The asymptotic bounds of a closed queueing network: Denning and Buzen, 1978.)

The knee is where the throughput of users who would not disturb each other, l N, reaches the most that there is: the
peak, or without one the asymptote l / a (so that the knee is 1 / a), or C (Gunther, Guerrilla Capacity Planning, 2007,
ch. 4 to 6). Errors count relative to the throughput. The interval is of 95 %, by a bootstrap of the residuals:
throughputs are drawn anew as the fit's times 1 + a residual drawn from those found, scaled by sqrt(n / (n - p)) for the
p parameters that they were fitted with, and fitted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Model = Literal["usl", "bounds"]

FEWEST: Final = 4
_DRAWS: Final = 200
_SEED: Final = 1
_LEAST_ERROR: Final = 1e-3
"""Relative; no throughput is measured more exactly, and two perfect fits are alike."""
_PARAMETERS: Final[dict[Model, int]] = {"usl": 3, "bounds": 2}


@dataclass(frozen=True, slots=True)
class Curve:
    """A fitted model. `contention` (a) and `coherency` (b) are 0 in `bounds`."""

    model: Model
    per_user_rps: float
    """l: of one user alone."""
    contention: float
    coherency: float
    ceiling_rps: float
    """The most: at the peak, or that which is never quite reached; inf where there is none."""

    @property
    def knee(self) -> float:
        """Users; inf where throughput grows with them without end."""
        return self.ceiling_rps / self.per_user_rps

    @property
    def peak_users(self) -> float | None:
        """Where throughput is highest, where it falls again beyond; None: nowhere."""
        if self.coherency <= 0 or self.contention >= 1:
            return None
        return float(np.sqrt((1 - self.contention) / self.coherency))

    def at(self, users: Floats) -> Floats:
        """Throughput with so many users; shape (n,)."""
        if self.model == "bounds":
            return np.minimum(self.per_user_rps * users, self.ceiling_rps)
        return _usl(users, self.per_user_rps, self.contention, self.coherency)


@dataclass(frozen=True, slots=True)
class Knee:
    """Where throughput flattens, and how sure that is."""

    users: float
    low: float
    high: float
    curve: Curve
    error: float
    """Root mean square of the relative residuals."""


def knee_of(users: Sequence[float], throughput_rps: Sequence[float]) -> Knee | None:
    """The knee of steps, FEWEST or more, of which all had throughput; None where no model can be fitted."""
    at, seen = np.asarray(users, dtype=np.float64), np.asarray(throughput_rps, dtype=np.float64)
    curves = [curve for model in _PARAMETERS if (curve := _fit(model, at, seen)) is not None]
    if not curves:
        return None
    curve = min(curves, key=lambda curve: _criterion(curve, at, seen))
    expected = curve.at(at)
    residuals = seen / expected - 1
    scaled = residuals * np.sqrt(len(at) / max(len(at) - _PARAMETERS[curve.model], 1))
    random = np.random.default_rng(_SEED)
    knees = []
    for _ in range(_DRAWS):
        drawn = expected * np.maximum(1 + random.choice(scaled, len(at)), 0.05)
        again = _fit(curve.model, at, drawn)
        knees.append(curve.knee if again is None else again.knee)
    low, high = np.quantile(np.minimum(knees, 1e9), (0.025, 0.975))
    error = float(np.sqrt((residuals**2).mean()))
    return Knee(curve.knee, min(float(low), curve.knee), max(float(high), curve.knee), curve, error)


def _criterion(curve: Curve, users: Floats, seen: Floats) -> float:
    """Akaike's criterion of least squares, up to a constant."""
    left = max(float(((seen / curve.at(users) - 1) ** 2).mean()), _LEAST_ERROR**2)
    return len(users) * float(np.log(left)) + 2 * _PARAMETERS[curve.model]


def _fit(model: Model, users: Floats, seen: Floats) -> Curve | None:
    return _fit_usl(users, seen) if model == "usl" else _fit_bounds(users, seen)


def _usl(users: Floats, per_user_rps: float, contention: float, coherency: float) -> Floats:
    loss: Floats = 1 + contention * (users - 1) + coherency * users * (users - 1)
    return per_user_rps * users / loss


def _fit_usl(users: Floats, seen: Floats) -> Curve | None:
    """N / X = 1/l + a/l (N - 1) + b/l N (N - 1) is linear in what is sought, none of which is negative."""
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    terms = np.column_stack((np.ones_like(users), users - 1, users * (users - 1)))
    scale = np.array([1.0, users.max(), users.max() ** 2])
    found, _ = nnls(terms / scale * (seen / users)[:, None], np.ones_like(users))
    inverse, contention, coherency = (float(value) for value in found / scale)
    if inverse <= 0:
        return None
    curve = Curve("usl", 1 / inverse, contention / inverse, coherency / inverse, np.inf)
    if curve.peak_users is not None:
        return replace(curve, ceiling_rps=float(curve.at(np.array([max(curve.peak_users, 1.0)]))[0]))
    return replace(curve, ceiling_rps=1 / contention) if contention > 0 else curve


def _fit_bounds(users: Floats, seen: Floats) -> Curve | None:
    """Least squares of relative errors: for each way to part the steps into a rising and a flat part it is exact."""
    best: tuple[float, Curve] | None = None
    slopes = users / seen
    for rising in range(1, len(users)):
        per_user = float(slopes[:rising].sum() / (slopes[:rising] ** 2).sum())
        flat = 1 / seen[rising:]
        ceiling = float(flat.sum() / (flat**2).sum())
        curve = Curve("bounds", per_user, 0.0, 0.0, ceiling)
        left = float(((curve.at(users) / seen - 1) ** 2).sum())
        if best is None or left < best[0]:
            best = (left, curve)
    return None if best is None else best[1]
