from __future__ import annotations

import numpy as np
import pytest

from loadgen.outcome import Outcome
from loadgen.samples import MISSING
from rig.report import frames
from rig.report.frames import MOST_LINES, STAGES
from tests.loadgen.make import failed_rows, ok_rows, samples_of

MS = 1_000_000


def stages(rows: frames.Timeline, row: int) -> dict[str, tuple[float, float]]:
    """The stages of one request: from and to, in ms."""
    own = np.flatnonzero(rows.row == row)
    return {STAGES[rows.stage[at]]: (rows.begin_ms[at], rows.end_ms[at]) for at in own}


def test_a_request_is_drawn_stage_by_stage() -> None:
    one = {"due": 0, "begun": 10 * MS, "connected": 30 * MS, "first_byte": 60 * MS, "done": 100 * MS}
    rows = frames.timeline(frames.in_order(samples_of([one]), burst=True))
    assert stages(rows, 0) == {
        "not yet sent": (0, 10), "connect": (10, 30), "waiting": (30, 60), "answering": (60, 100),
    }  # fmt: skip
    assert rows.span_ms == 100


def test_on_an_open_connection_nothing_is_connected() -> None:
    kept = {"connected": MISSING, "reused": 1, "first_byte": 50 * MS, "done": 50 * MS}
    assert stages(frames.timeline(samples_of([kept])), 0) == {"waiting": (0, 50)}


def test_a_request_that_never_connected_was_connecting_all_the_time_and_has_failed() -> None:
    lost = {"connected": MISSING, "first_byte": MISSING, "done": 150 * MS, "outcome": int(Outcome.CONNECT_TIMEOUT)}
    assert stages(frames.timeline(samples_of([lost])), 0) == {"connect": (0, 150), "failed": (150, 151)}


def test_a_failed_request_is_seen_however_short_it_was() -> None:
    samples = samples_of([*ok_rows(1000), *failed_rows(Outcome.REFUSED, 0.01)])
    failed = stages(frames.timeline(samples), 1)
    assert "failed" in failed
    assert len(failed) == 2


def test_a_request_that_was_never_begun_is_not_drawn() -> None:
    never = dict.fromkeys(("due", "begun", "connected", "first_byte", "done"), MISSING)
    assert len(frames.in_order(samples_of([never, *ok_rows(5)]), burst=True)) == 1


@pytest.mark.parametrize(("burst", "order"), [(True, [1, 2, 3]), (False, [3, 1, 2])])
def test_a_burst_stands_as_it_was_done_and_the_others_as_they_began(burst: bool, order: list[int]) -> None:
    samples = samples_of([{"begun": begun * MS, "done": done * MS} for begun, done in ((0, 3), (1, 1), (2, 2))])
    assert (frames.in_order(samples, burst=burst).done // MS).tolist() == order


def test_a_long_run_is_thinned_from_first_to_last() -> None:
    samples = frames.in_order(samples_of(ok_rows(*range(1, 10_001))), burst=True)
    rows = frames.timeline(samples)
    assert rows.requests == 10_000
    assert rows.drawn == MOST_LINES == len(np.unique(rows.row))
    assert (rows.row.min(), rows.row.max()) == (0, 9_999)
    assert np.diff(np.unique(rows.row)).max() <= 11


def test_percentiles_are_those_of_the_definition() -> None:
    n = 5000
    values = np.sort(np.random.default_rng(2).exponential(size=n))
    curve = frames.percentiles(values)
    for x, y in zip(curve.x, curve.y, strict=True):
        assert y == values[min(n - 1, int((1 - 1 / x) * n + 1e-6))]
    assert (curve.x[0], curve.y[0]) == (1, values[0])
    assert (curve.x[-1], curve.y[-1]) == (n, values[-1])
    assert len(curve.x) < 1000


def test_the_cumulative_curve_ends_with_all() -> None:
    curve = frames.cumulative(np.array([1.0, 2.0, 4.0]))
    assert curve.y.tolist() == [1 / 3, 2 / 3, 1]


def test_response_times_are_of_ok_requests() -> None:
    samples = samples_of([*ok_rows(7, 5), *failed_rows(Outcome.RESET, 1)])
    assert frames.response_ms([samples, samples]).tolist() == [5, 5, 7, 7]
    assert len(frames.response_ms([])) == 0


def test_in_flight_keeps_a_peak_that_is_narrower_than_a_stretch() -> None:
    short = [{"begun": 500 * MS, "done": 500 * MS + 1000}] * 30
    curve = frames.in_flight(samples_of([{"done": 1000 * MS}, *short]))
    assert curve.y.max() == 31
    assert curve.y[10] == 1
    assert curve.y[-1] == 0


def test_completions_add_up_to_all_requests() -> None:
    samples = samples_of([*ok_rows(*range(100)), *failed_rows(Outcome.RESET, 40)])
    curve = frames.completions(samples, 1000 * MS)
    assert np.isclose(np.sum(curve.y[:-1] * np.diff(curve.x)) / 1000, 101)


def test_rates_that_stand_beside_each_other_are_over_equal_stretches() -> None:
    curves = [frames.completions(samples_of(ok_rows(*range(last))), 2000 * MS) for last in (50, 2000)]
    assert curves[0].x[1] == curves[1].x[1]
