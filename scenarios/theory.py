"""What theory predicts of requests on a server whose limit is known. Pure.

Burst: N at once, a limit of L, a service time of S: ceil(N / L) waves, the wall is waves x S.
Closed: C at a time: no more than min(C, L) / S requests a second (Little's law).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from loadgen.explain.words import counted
from scenarios.scenario import Predicted


@dataclass(frozen=True, slots=True)
class Prediction:
    """What should be seen. A figure that is None is not predicted."""

    waves: int | None
    wall_ms: float | None
    most_rps: float | None
    over: int | None
    causes: tuple[str, ...]
    """Those that may be found; empty: any."""

    def __str__(self) -> str:
        figures = [
            "" if self.waves is None else counted(self.waves, "wave"),
            "" if self.wall_ms is None else f"about {self.wall_ms:,.0f} ms",
            "" if self.most_rps is None else f"at most {self.most_rps:,.0f} a second",
            "" if self.over is None else f"{self.over:,} late",
        ]
        causes = " or ".join(self.causes)
        return "; ".join(filter(None, (", ".join(filter(None, figures)), causes)))


def predict(
    stated: Predicted, *, n: int, concurrency: int, service_ms: float | None, limit: int | None, networked: bool = True
) -> Prediction | None:
    """The prediction for `n` requests, `concurrency` at a time, where `limit` is the known one (None: none).

    `networked`: whether connections stand between, which may wait to be accepted. What is `stated` comes first. None
    where there is nothing to predict from.
    """
    limit = stated.limit or limit
    burst = concurrency == n
    waves, wall_ms, most_rps = stated.waves, stated.wall_ms, None
    if service_ms is not None and burst:
        waves = waves or (1 if limit is None else ceil(n / limit))
        wall_ms = waves * service_ms if wall_ms is None else wall_ms
    elif service_ms:
        most_rps = min(concurrency, limit or concurrency) / service_ms * 1000
    prediction = Prediction(waves, wall_ms, most_rps, stated.over, stated.causes)
    if not str(prediction):
        return None
    if stated.causes or service_ms is None:
        return prediction
    return Prediction(waves, wall_ms, most_rps, stated.over, _causes(limit, concurrency, networked=networked))


def _causes(limit: int | None, concurrency: int, *, networked: bool) -> tuple[str, ...]:
    """What a limit shows as, where so many are in flight."""
    if limit is None or limit >= concurrency:
        return ("overlapped",)
    if limit == 1:
        return ("serial",)
    return ("concurrency-limit", "connection-limit") if networked else ("concurrency-limit",)
