"""The arithmetic of slots and standstills, against the slow and obvious ways."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from servers.calibrated.stats import Lateness
from servers.calibrated.timetable import NEVER_NS, Slots, Standstills, Unlimited

MS = 1_000_000
moments = st.integers(0, 10_000)


def simulated_ends(limit: int, requests: list[tuple[int, int]]) -> list[int]:
    """Steps through time with an explicit queue; requests are (arrival, service), in order of arrival."""
    ends = [0] * len(requests)
    working: list[int] = []
    waiting = list(range(len(requests)))
    now = 0
    while waiting:
        working = [index for index in working if ends[index] > now]
        while waiting and len(working) < limit and requests[waiting[0]][0] <= now:
            index = waiting.pop(0)
            ends[index] = now + requests[index][1]
            if ends[index] > now:
                working.append(index)
        now += 1
    return ends


@settings(deadline=None)
@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=25))
def test_slots_give_the_ends_of_a_simulated_queue(limit: int, requests: list[tuple[int, int]]) -> None:
    requests = sorted(requests, key=lambda request: request[0])
    slots = Slots(limit)
    ends = []
    for arrival, service in requests:
        ends.append(slots.begin_ns(arrival) + service)
        slots.take(ends[-1])
    assert ends == simulated_ends(limit, requests)


def test_waves_do_not_drift() -> None:
    slots = Slots(100)
    ends = []
    for index in range(5000):
        ends.append(slots.begin_ns(index) + 100 * MS)
        slots.take(ends[-1])
    assert ends[4900:] == [index + 50 * 100 * MS for index in range(100)]


def test_unlimited_begins_at_the_arrival() -> None:
    slots = Unlimited()
    slots.take(1000)
    assert slots.begin_ns(7) == 7


@settings(deadline=None)
@given(st.integers(2, 50), st.data(), st.integers(0, 1000), moments)
def test_defer_moves_only_what_falls_into_a_standstill(every: int, data: st.DataObject, origin: int, at: int) -> None:
    length = data.draw(st.integers(1, every - 1))
    standstills = Standstills(every, length, origin * MS)
    stands = any(
        origin + turn * every <= at < origin + turn * every + length for turn in range(1, (at - origin) // every + 2)
    )
    deferred = standstills.defer_ns(at * MS)
    assert (deferred > at * MS) == stands
    assert deferred - at * MS <= length * MS
    assert standstills.defer_ns(deferred) == deferred
    begin, end = standstills.next_ns(at * MS)
    assert end - begin == length * MS
    assert begin <= at * MS < end if stands else at * MS < begin <= max(at, origin) * MS + every * MS
    assert not stands or deferred == end


def test_no_standstills() -> None:
    standstills = Standstills(0, 0, 5)
    assert standstills.defer_ns(17) == 17
    assert standstills.next_ns(17) == (NEVER_NS, NEVER_NS)


def test_lateness_percentiles() -> None:
    lateness = Lateness()
    assert lateness.report() == {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}
    for late_ms in range(100):
        lateness.add(late_ms * MS)
    lateness.add(-1)
    lateness.add(5000 * MS)
    assert lateness.report() == {"count": 102, "p50_ms": 50.01, "p99_ms": 99.01, "max_ms": 5000.0}
