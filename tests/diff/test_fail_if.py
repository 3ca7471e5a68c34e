from __future__ import annotations

import pytest

from loadgen.errors import UsageError
from rig.diff.fail_if import parse_fail_if
from tests.diff.make import compared

SLOW, FAST = [120.0, 121.0, 122.0, 123.0], [100.0, 101.0, 102.0, 103.0]


@pytest.mark.parametrize(
    ("text", "a", "b", "passed", "ends"),
    [
        ("p99 worse by 10%", FAST, SLOW, False, "failed, +19.7% (p=0.0286)"),
        ("p99 worse by 20%", FAST, SLOW, True, "passed, +19.7% (p=0.0286)"),
        ("p99  worse", FAST, SLOW, False, "failed, +19.7% (p=0.0286)"),
        ("p99 worse by 10%", SLOW, FAST, True, "passed, -16.5% (p=0.0286)"),
        ("throughput worse by 10 %", FAST, SLOW, False, "failed, -16.5% (p=0.0286)"),
        ("throughput worse by 10%", SLOW, FAST, True, "passed, +19.7% (p=0.0286)"),
        # Beyond the bound, and no more than chance gives.
        ("wall worse by 10%", [100.0, 101.0, 102.0, 130.0], [99.0, 120.0, 121.0, 122.0], True,
         "passed, no difference seen, +18.7% (p=0.886)"),
    ],
)  # fmt: skip
def test_it_fails_by_a_verdict_and_a_bound(text: str, a: list[float], b: list[float], passed: bool, ends: str) -> None:
    judged = parse_fail_if(text).judge(compared(a, b))
    assert judged.passed is passed
    assert judged.line.endswith(ends)
    assert judged.line.startswith("fail-if: async, " + " ".join(text.split()))


def test_too_few_runs_do_not_pass() -> None:
    judged = parse_fail_if("p99 worse by 10%").judge(compared(FAST[:3], SLOW[:3]))
    assert judged.passed is None
    assert judged.line == (
        "fail-if: async, p99 worse by 10%: not judged,"
        " too few runs to tell (3 a side; 4 is the least at which p < 0.05 can be reached)"
    )


def test_failures_where_there_were_none_are_beyond_any_bound() -> None:
    judged = parse_fail_if("failed worse by 1000%").judge(compared(FAST, FAST, failed=(0, 3)))
    assert judged.line == "fail-if: async, failed worse by 1000%: failed, +3 points (p=0.0286)"
    assert judged.data() == {
        "fail_if": "failed worse by 1000%",
        "passed": False,
        "reason": "+3 points (p=0.0286)",
    }


def test_where_every_request_fails_the_times_are_not_judged() -> None:
    bounds = [parse_fail_if(f"{figure} worse") for figure in ("p99", "throughput", "failed")]
    both = compared(FAST, [1.0] * 4, failed=(0, 100))
    assert [bound.judge(both).passed for bound in bounds] == [None, False, False]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p99 > 10%", "write a figure and by how much, as in 'p99 worse by 10%'"),
        ("p99 worse by 10ms", "write a figure and by how much"),
        ("p99 worse by -10%", "write a figure and by how much"),
        ("", "write a figure and by how much"),
        ("p90 worse by 10%", "the figures are wall, p50, p99, throughput, failed"),
    ],
)
def test_what_cannot_be_read_says_what_can(text: str, says: str) -> None:
    with pytest.raises(UsageError, match="--fail-if") as raised:
        parse_fail_if(text)
    assert says in str(raised.value)
