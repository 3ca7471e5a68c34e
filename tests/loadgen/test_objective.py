from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import UsageError
from loadgen.objective import FIGURES, Verdict, parse_objective, verdict_lines
from loadgen.outcome import Outcome
from loadgen.summary import Summary, summarize
from tests.loadgen.make import failed_rows, ok_rows, samples_of


def summary(*response_ms: float, failed: int = 0) -> Summary:
    rows = ok_rows(*response_ms) + failed_rows(Outcome.RESET, *[1.0] * failed)
    return summarize(samples_of(rows), concurrency=len(rows), over_ms=1500)


@pytest.mark.parametrize(
    ("text", "met", "words"),
    [
        ("p99<200ms", False, "missed: 512 ms"),
        ("p99 <= 0.6s", True, "met: 512 ms"),
        ("p99<512ms", False, "missed: 512 ms"),
        ("p99<=512ms", True, "met: 512 ms"),
        ("min>10ms", True, "met: 100 ms"),
        ("mean<150ms", False, "missed: 182 ms"),
        ("failed<1%", False, "missed: 17 %"),
        ("failed<=2", True, "met: 2"),
        ("failed<2", False, "missed: 2"),
        ("over<=0", True, "met: 0"),
        ("throughput>10/s", True, "met: 20/s"),
        ("throughput>1000", False, "missed: 20/s"),
        ("wall<1s", True, "met: 512 ms"),
        ("release<1ms", True, "met: 0 ms"),
    ],
)
def test_an_objective_is_judged_with_the_measured_value(text: str, met: bool, words: str) -> None:
    verdict = parse_objective(text).judge(summary(*[100.0] * 8, 512.0, 512.0, failed=2), trusted=True)
    assert (verdict.met, verdict.words) == (met, words)


def test_a_run_that_is_not_trusted_is_not_judged_and_does_not_pass() -> None:
    verdict = parse_objective("p99<1s").judge(summary(100.0), trusted=False)
    assert not verdict.met
    assert verdict.words == "not judged: the generator was the bottleneck"
    assert verdict.data() == {"objective": "p99<1s", "value": 100.0, "met": None}


def test_a_figure_without_a_value_misses() -> None:
    verdict = parse_objective("p99<1s").judge(summary(failed=3), trusted=True)
    assert (verdict.met, verdict.words) == (False, "missed: n/a")


def test_over_several_runs_the_worst_decides() -> None:
    objective = parse_objective("p99<200ms")
    runs = [[objective.judge(summary(ms), trusted=ms != 1)] for ms in (150, 180, 512, 300)]
    assert list(verdict_lines(runs)) == ["slo: p99<200ms missed in 2 of 4 runs: 512 ms at worst"]
    assert list(verdict_lines(runs[:2])) == ["slo: p99<200ms met in each of 2 runs: 180 ms at worst"]
    assert list(verdict_lines(runs[:1])) == ["slo: p99<200ms met: 150 ms"]
    untrusted = [objective.judge(summary(1), trusted=False)]
    assert list(verdict_lines([runs[0], untrusted])) == [
        "slo: p99<200ms not judged in 1 of 2 runs: the generator was the bottleneck"
    ]
    low = parse_objective("throughput>1000")
    assert "1/s at worst" in next(verdict_lines([[Verdict(low, 1.0, False)], [Verdict(low, 9.0, False)]]))


@pytest.mark.parametrize(
    "text", ["p98<200ms", "p99=200ms", "p99<200", "p99", "", "failed<1s", "failed<101%", "throughput>fast", "p99<-1ms"]
)
def test_one_that_cannot_be_read_says_what_is_accepted(text: str) -> None:
    with pytest.raises(UsageError, match="is not accepted"):
        parse_objective(text)


def test_an_unknown_figure_lists_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=", ".join(FIGURES)):
        parse_objective("p98<200ms")


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6), st.sampled_from(["<", "<=", ">", ">="]))
def test_a_value_is_never_shown_on_the_other_side_of_its_bound(bound: float, value: float, comparison: str) -> None:
    bound = round(bound, 3)
    objective = parse_objective(f"p99{comparison}{bound:.3f}ms")
    value = round(value, 6)
    shown = float(objective.shown(value).removesuffix(" ms").replace(",", ""))
    assert objective.holds(shown) == objective.holds(value)
