"""Options of the loads that go on: what they make, and what is refused with what is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from loadgen.errors import UsageError
from loadgen.load_options import LoadOptions
from loadgen.options import ArrivalsName, EngineName
from loadgen.plan import Target
from loadgen.workload import Stage

TARGET = Target.parse("http://127.0.0.1/")


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ({"rate": "0"}, "it takes more than 0, as in 2000/s or 50/1m"),
        ({"rate": "-5"}, "write requests a second"),
        ({"rate": "fast"}, "write requests a second"),
        ({"rate": "10", "duration": "0"}, "-z 0 is not accepted: it takes more than 0 and at most 24h, as in 30s"),
        ({"concurrency": 2, "duration": "0s"}, "-z 0s is not accepted: it takes more than 0"),
        ({"concurrency": 2, "duration": "25h"}, "-z 25h is not accepted: it takes more than 0"),
        ({"rate": "10", "concurrency": 5}, "--max-in-flight bounds how many"),
        ({"n": 5, "duration": "5s"}, "give a number of requests, or a time"),
        ({"duration": "5s"}, "add -c USERS or --rate R"),
        ({"duration": "soon", "concurrency": 1}, "write a number and a unit"),
        ({"duration": "5s", "concurrency": 0}, "a concurrency of 0 is not accepted: -c takes 1 to 1,000,000"),
        ({"duration": "5s", "concurrency": -3}, "a concurrency of -3 is not accepted: -c takes 1 to 1,000,000"),
        ({"rate": "10", "n": 0}, "0 requests are not accepted: --n takes 1 or more"),
        ({"rate": "10", "n": -5}, "-5 requests are not accepted: --n takes 1 or more"),
        ({"rate": "10", "arrivals": ArrivalsName.POISSON, "seed": -1}, "--seed takes 0 or more, not -1"),
        ({"stages": ("30s",)}, "write a duration and a level"),
        ({"stages": ("30s:64", "30s:64/s")}, "the stages are of one kind"),
        ({"stages": ("30s:0",)}, "must be above 0"),
        ({"stages": ("30s:64",), "duration": "5s"}, "leave -n, -c, -z and --rate out"),
        ({"stages": ("30s:64",), "n": 5}, "leave -n, -c, -z and --rate out"),
        ({"stages": ("30s:64",), "concurrency": 0}, "leave -n, -c, -z and --rate out"),
        ({"stages": ("30s:64",), "rate": "5"}, "leave -n, -c, -z and --rate out"),
        ({"stages": ("20h:1", "20h:1")}, "more than 24h"),
        ({"rate": "10", "think": "1s"}, "--think belongs to users"),
        ({"stages": ("1s:5/s",), "think": "1s"}, "--think belongs to users"),
        ({"rate": "10", "preconnect": True}, "--preconnect belongs to requests released together"),
        ({"think": "25h", "n": 5}, "--think takes 0 to 24h"),
        ({"rate": "10", "max_in_flight": 0}, "--max-in-flight takes 1 or more"),
        ({"n": 5, "max_in_flight": 5}, "add --rate R, or stages of a rate"),
        ({"stages": ("30s:64",), "arrivals": ArrivalsName.POISSON}, "add --rate R, or stages of a rate"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused_in_one_line(options: dict[str, Any], accepted: str) -> None:
    with pytest.raises(UsageError) as raised:
        LoadOptions(**options).plan(TARGET)
    assert accepted in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "stages", "is_open"),
    [
        ({"rate": "2000", "duration": "30s"}, (Stage(30, 2000, 2000),), True),
        ({"rate": "50/1m", "n": 100}, (Stage(120, 50 / 60, 50 / 60),), True),
        ({"rate": "100"}, (Stage(4, 100, 100),), True),
        ({"duration": "30s", "concurrency": 64}, (Stage(30, 64, 64),), False),
        ({"stages": ("1s:5/s..10/s", "2s:0/s")}, (Stage(1, 5, 10), Stage(2, 0, 0)), True),
        ({"stages": ("1s:0..5",)}, (Stage(1, 0, 5),), False),
    ],
)
def test_rates_times_and_stages_are_stages(options: dict[str, Any], stages: tuple[Stage, ...], is_open: bool) -> None:
    workload = LoadOptions(**options).workload()

    assert (workload.stages, workload.is_open, workload.requests) == (stages, is_open, None)


def test_the_most_users_are_those_of_the_highest_stage() -> None:
    assert LoadOptions(stages=("1s:0..5", "1s:7..3")).workload().concurrency == 7


def test_the_cap_on_requests_in_flight_is_given_or_what_the_machine_has_room_for() -> None:
    assert LoadOptions(rate="5", max_in_flight=3).workload().concurrency == 3
    assert LoadOptions(rate="5").workload().concurrency > 100
    assert LoadOptions(rate="5", engine=EngineName.HTTPX).workload().concurrency <= 1000


def test_random_arrivals_have_their_seed() -> None:
    workload = LoadOptions(rate="5", arrivals=ArrivalsName.POISSON, seed=9).workload()

    assert (workload.poisson, workload.seed) == (True, 9)
