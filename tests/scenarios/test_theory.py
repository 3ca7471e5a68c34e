"""What theory predicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.scenario import Predicted
from scenarios.theory import Prediction, predict


def of_burst(n: int, limit: int | None, stated: Predicted | None = None) -> Prediction:
    prediction = predict(stated or Predicted(), n=n, concurrency=n, service_ms=1000, limit=limit)
    assert prediction is not None
    return prediction


@pytest.mark.parametrize(
    ("n", "limit", "spoken"),
    [
        (400, 200, "2 waves, about 2,000 ms; concurrency-limit or connection-limit"),
        (400, 399, "2 waves, about 2,000 ms; concurrency-limit or connection-limit"),
        (400, 400, "1 wave, about 1,000 ms; overlapped"),
        (400, None, "1 wave, about 1,000 ms; overlapped"),
        (20, 1, "20 waves, about 20,000 ms; serial"),
        (1, 1, "1 wave, about 1,000 ms; overlapped"),
    ],
)
def test_waves_of_a_burst(n: int, limit: int | None, spoken: str) -> None:
    assert str(of_burst(n, limit)) == spoken


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_waves_are_as_few_as_hold_all(n: int, limit: int) -> None:
    waves = of_burst(n, limit).waves
    assert waves is not None
    assert (waves - 1) * limit < n <= waves * limit


def test_what_is_stated_comes_first() -> None:
    stated = Predicted(limit=10, over=3, causes=("overlapped", "accept-queue"))
    assert str(of_burst(20, 5, stated)) == "2 waves, about 2,000 ms, 3 late; overlapped or accept-queue"
    assert of_burst(20, 5, Predicted(waves=1)).wall_ms == 1000
    assert of_burst(20, 5, Predicted(wall_ms=70)).wall_ms == 70


def test_rate_of_a_closed_load() -> None:
    slow = predict(Predicted(), n=1000, concurrency=50, service_ms=100, limit=20)
    assert str(slow) == "at most 200 a second; concurrency-limit or connection-limit"
    free = predict(Predicted(), n=1000, concurrency=50, service_ms=100, limit=None)
    assert str(free) == "at most 500 a second; overlapped"


def test_nothing_to_predict_from() -> None:
    assert predict(Predicted(), n=10, concurrency=5, service_ms=None, limit=3) is None
    stated = predict(Predicted(causes=("cpu-shared",)), n=10, concurrency=5, service_ms=None, limit=3)
    assert str(stated) == "cpu-shared"
