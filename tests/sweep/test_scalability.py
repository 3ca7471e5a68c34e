from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.sweep.scalability import Floats, knee_of

USERS = [1.0, 2, 4, 8, 16, 32, 64, 128, 256]


def usl(users: Floats, per_user: float, contention: float, coherency: float) -> Floats:
    curve: Floats = per_user * users / (1 + contention * (users - 1) + coherency * users * (users - 1))
    return curve


@given(st.floats(1, 1000), st.floats(0.01, 0.3), st.floats(1e-5, 1e-3))
def test_the_law_is_found_again_in_its_own_curve(per_user: float, contention: float, coherency: float) -> None:
    knee = knee_of(USERS, usl(np.array(USERS), per_user, contention, coherency).tolist())
    assert knee is not None
    assert knee.curve.model == "usl"
    assert knee.curve.per_user_rps == pytest.approx(per_user, rel=0.02)
    assert knee.curve.contention == pytest.approx(contention, rel=0.05)
    peak = np.sqrt((1 - contention) / coherency)
    assert knee.curve.peak_users == pytest.approx(peak, rel=0.05)
    assert knee.users == pytest.approx(usl(np.array([peak]), per_user, contention, coherency)[0] / per_user, rel=0.05)


@given(st.floats(1, 1000), st.integers(3, 120))
def test_places_without_contention_are_found_as_such(per_user: float, places: int) -> None:
    knee = knee_of(USERS, [per_user * min(users, places) for users in USERS])
    assert knee is not None
    assert knee.curve.model == "bounds"
    assert knee.users == pytest.approx(places, rel=0.01)
    assert knee.low <= knee.users <= knee.high


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_holds_the_knee_of_noisy_steps(seed: int) -> None:
    random = np.random.default_rng(seed)
    seen = np.minimum(np.array(USERS) * 10, 200) * random.normal(1, 0.03, len(USERS))
    knee = knee_of(USERS, seen.tolist())
    assert knee is not None
    assert 0.9 * knee.low <= 20 <= 1.1 * knee.high
    assert knee.high - knee.low < 15
