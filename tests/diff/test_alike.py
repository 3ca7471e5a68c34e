from __future__ import annotations

from typing import Any

from rig.diff.alike import environment_differences, plan_differences

PLAN: dict[str, Any] = {
    "url": "http://127.0.0.1:40001/sleep",
    "requests": 400,
    "runs": 5,
    "targets": [{"url": "http://127.0.0.1:40001/a", "weight": 1}],
    "objectives": [],
}


def test_what_differs_in_an_environment_is_named_by_its_place() -> None:
    a = {"cpus": 2, "kernel": {"release": "6.1", "somaxconn": 4096}}
    b = {"cpus": 4, "kernel": {"release": "6.1", "somaxconn": 128}}
    assert list(environment_differences(a, b)) == [
        "environment: cpus is 2 in A, 4 in B",
        "environment: kernel.somaxconn is 4096 in A, 128 in B",
    ]


def test_what_is_of_the_moment_or_known_to_one_side_is_no_difference() -> None:
    a = {"cpus": 2, "load": 0.1, "git": {"commit": "a"}, "governor": "performance"}
    b = {"cpus": 2, "load": 1.4, "git": {"commit": "b"}, "uvloop": "1"}
    assert list(environment_differences(a, b)) == []


def test_a_plan_differs_by_what_changes_a_run() -> None:
    b = {**PLAN, "runs": 8, "requests": 200, "objectives": ["p99<1s"]}
    assert list(plan_differences("async", PLAN, b)) == ["plan of async: requests is 400 in A, 200 in B"]


def test_the_port_of_a_server_that_rig_started_is_no_difference() -> None:
    b = {**PLAN, "url": "http://127.0.0.1:40002/sleep", "targets": [{"url": "http://127.0.0.1:40002/a", "weight": 1}]}
    assert list(plan_differences("async", PLAN, b)) == []
    assert [line.partition(" is ")[0] for line in plan_differences("", PLAN, b)] == ["plan: url", "plan: targets"]
    of_b = {**PLAN, "url": "http://127.0.0.1:40002/json"}
    assert list(plan_differences("async", PLAN, of_b)) == [
        "plan of async: url is http://127.0.0.1/sleep in A, http://127.0.0.1/json in B"
    ]
