"""Whether a prediction holds, by runs that are made up."""

from __future__ import annotations

import pytest

from loadgen.explain import Finding
from loadgen.summary import Summary, Times
from rig.scenario.judge import Seen, Verdict, judge
from rig.scenario.outcome import row_of, spoken_runs
from scenarios.scenario import Entry, Load, Published
from scenarios.theory import Prediction


def summary(wall_ms: float, over: int = 0, ok: int = 10) -> Summary:
    wall_ns = int(wall_ms * 1e6)
    times = Times(wall_ns, wall_ns, wall_ns, wall_ns, wall_ns, wall_ns, wall_ns) if ok else None
    return Summary(10, 10, ok, {}, {}, wall_ns, times, 1500, over, 0, 0, 0)


def finding(cause: str, *, waves: int = 0, **evidence: object) -> Finding:
    details = {"waves": [5] * waves, "service_ms": 1000.0, "limit": 5} if waves else {}
    return Finding(cause, 10, f"{cause} it was.", dict(evidence), details)


def run(wall_ms: float, *findings: Finding, over: int = 0) -> Seen:
    return Seen(summary(wall_ms, over), findings, wall_ms)


ONE = Prediction(1, 1000.0, None, None, ("overlapped",))
TWO = Prediction(2, 2000.0, None, None, ("concurrency-limit",))
OVERLAPPED = finding("overlapped")
LIMITED = finding("concurrency-limit", waves=2)


@pytest.mark.parametrize(
    ("prediction", "runs"),
    [
        (ONE, [run(1000, OVERLAPPED)]),
        (ONE, [run(1500, OVERLAPPED)]),
        (ONE, [run(1000, OVERLAPPED), run(1000, OVERLAPPED), run(2100, LIMITED)]),
        (TWO, [run(2700, LIMITED)]),
        (Prediction(None, None, None, 2, ()), [run(9000, over=2)]),
    ],
)
def test_held(prediction: Prediction, runs: list[Seen]) -> None:
    verdict, sentence = judge(prediction, runs)
    assert verdict is Verdict.HELD
    assert sentence.startswith("as predicted: ")


@pytest.mark.parametrize(
    ("prediction", "runs", "says"),
    [
        (ONE, [run(1501, OVERLAPPED)], "predicted about 1,000 ms, measured 1,501 ms; 900 to 1,500 would have held: "),
        (ONE, [run(899, OVERLAPPED)], "predicted about 1,000 ms, measured 899 ms"),
        (ONE, [run(1000, OVERLAPPED), run(1000, LIMITED)], "predicted 1 wave, measured 1 and 2: "),
        (
            ONE,
            [run(1000, LIMITED)],
            "predicted 1 wave, measured 2; overlapped, found concurrency-limit: concurrency-limit it was",
        ),
        (ONE, [run(1000)], "predicted 1 wave, measured none to be seen: no cause was found"),
        (Prediction(None, None, None, 2, ()), [run(1000, OVERLAPPED, over=3)], "predicted 2 late, measured 3: "),
        (Prediction(None, None, 5.0, None, ()), [run(1000, OVERLAPPED)], "predicted at most 5 a second, measured 10: "),
    ],
)
def test_not_held_and_why(prediction: Prediction, runs: list[Seen], says: str) -> None:
    verdict, sentence = judge(prediction, runs)
    assert verdict is Verdict.FAILED
    assert sentence.startswith(says)


def test_reason_is_of_a_run_that_failed() -> None:
    slow = Finding("overlapped", 10, "A slow one.", {}, {"service_ms": 1900.0})
    _, sentence = judge(ONE, [run(1000, OVERLAPPED), run(1900, slow), run(1900, slow)])
    assert sentence.endswith("A slow one")


def test_resent_syns_are_no_evidence_on_the_wall_where_they_are_predicted() -> None:
    resent = finding("accept-queue")
    runs = [Seen(summary(2240), (resent, OVERLAPPED), 1050.0)]
    assert judge(Prediction(1, 1000.0, None, None, ("overlapped", "accept-queue")), runs)[0] is Verdict.HELD
    verdict, sentence = judge(ONE, runs)
    assert verdict is Verdict.FAILED
    assert "overlapped, found accept-queue" in sentence
    assert sentence.endswith("accept-queue it was")


def test_wall_without_resent_requests_still_has_its_bound_and_is_shown() -> None:
    runs = [Seen(summary(2600), (finding("accept-queue"), OVERLAPPED), 1600.0)]
    prediction = Prediction(1, 1000.0, None, None, ("overlapped", "accept-queue"))
    verdict, sentence = judge(prediction, runs)
    assert verdict is Verdict.FAILED
    assert "measured 2,600 ms (1,600 ms without those resent); 900 to 1,500 would have held" in sentence
    assert spoken_runs(runs, prediction).startswith("1 wave, 2,600 ms (1,600 ms without those resent), 0 late; ")
    assert spoken_runs(runs, ONE).startswith("1 wave, 2,600 ms, 0 late; ")
    assert sentence.endswith("accept-queue it was")


def test_requests_too_few_to_tell_are_no_evidence_against_waves() -> None:
    doubtful = finding("overlapped", possible_limit=5)
    verdict, sentence = judge(TWO, [run(2000, doubtful)])
    assert verdict is Verdict.HELD
    assert sentence == "as predicted: the times fit, though 10 requests are too few to tell 2 waves from 1"
    assert judge(Prediction(3, 2000.0, None, None, ("serial",)), [run(2000, doubtful)])[0] is Verdict.FAILED


def test_resent_requests_come_later_and_leave_fewer_waves() -> None:
    prediction = Prediction(2, 2000.0, None, None, ("concurrency-limit", "accept-queue"))
    one_wave = Seen(summary(2300), (Finding("accept-queue", 4, "Dropped.", {}), OVERLAPPED), 1500.0)
    verdict, sentence = judge(prediction, [one_wave])
    assert verdict is Verdict.HELD
    assert "; the 6 of 10 requests that TCP did not send again made 1 wave, and so many say nothing" in sentence
    assert judge(prediction, [run(2300, OVERLAPPED)])[0] is Verdict.FAILED
    assert judge(TWO, [one_wave])[0] is Verdict.FAILED


def test_prediction_of_causes_alone_says_nothing_of_waves() -> None:
    verdict, sentence = judge(Prediction(None, None, None, None, ("cpu-shared",)), [run(3000, finding("cpu-shared"))])
    assert (verdict, sentence) == (Verdict.HELD, "as predicted: the CPU was shared")


def test_what_the_generator_made_is_not_to_be_trusted() -> None:
    verdict, sentence = judge(ONE, [run(1000, finding("client"), OVERLAPPED)])
    assert (verdict, sentence) == (Verdict.UNTRUSTED, "client it was")
    assert judge(None, [run(1000, finding("client"), OVERLAPPED)])[0] is Verdict.UNTRUSTED


def test_runs_that_are_not_to_be_trusted_are_marked_and_nothing_rests_on_them() -> None:
    doubtful = run(1900, finding("client"), OVERLAPPED, over=9)
    runs = [doubtful, run(1000, OVERLAPPED), run(1010, OVERLAPPED)]
    assert judge(ONE, runs)[0] is Verdict.HELD
    assert spoken_runs(runs) == "1 wave, 1,005 ms, 0 late; overlapped; not to be trusted in 1 of 3 runs"
    assert spoken_runs([doubtful]).endswith("client and overlapped; not to be trusted in 1 of 1 run")


@pytest.mark.parametrize(
    ("wall_ms", "over", "says"),
    [
        (1100, [8, 4], "as published: median wall 1,000 ms there, 1,100 ms here, 2 to 6 late there, 4 to 8 here"),
        (1100, [9, 9], "wall as published, late not: median wall 1,000 ms there, 1,100 ms here, 2 to 6 late there, 9"),
        (3000, [2, 2], "late as published, wall not: "),
        (3000, [9, 9], "other than published: "),
    ],
)
def test_published_is_compared_by_wall_and_late(wall_ms: float, over: list[int], says: str) -> None:
    runs = [run(wall_ms, OVERLAPPED, over=late) for late in over]
    entry = Entry("async", published=Published(wall_ms=(900, 1000, 1100), over=(2, 6), note="elsewhere"))
    row = row_of(Load((entry,), "/sleep", 10, 10), entry, None, runs)
    assert says in row.sentence
    assert row.sentence.endswith("; published: elsewhere")
    untrusted = [Seen(each.summary, (finding("client"),), 0.0) for each in runs]
    assert "there" not in row_of(Load((entry,), "/sleep", 10, 10), entry, None, untrusted).sentence


def test_without_runs_answers_or_prediction() -> None:
    assert judge(ONE, [])[0] is Verdict.UNMEASURED
    assert judge(ONE, [Seen(summary(1000, ok=0), (), 0.0)])[0] is Verdict.UNMEASURED
    assert judge(None, [run(1000, OVERLAPPED)])[0] is Verdict.UNPREDICTED
