"""What a search for a limit comes to, by the response times of its bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from loadgen.explain import Evidence, explain
from loadgen.limit import Search, Verdict
from loadgen.plan import Plan, Target, Workload
from loadgen.run import Run
from loadgen.summary import summarize
from tests.loadgen.make import ok_rows, samples_of

SERVICE_MS = 305


@dataclass
class MadeSession:
    """Stands for a session at a server of so many places; one request in each burst of `odd` takes longer."""

    plan: Plan
    places: int
    odd: dict[int, float]
    is_stopped: bool = False

    def __enter__(self) -> MadeSession:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def run(self, number: int) -> Run:
        n = self.plan.workload.concurrency
        times = [SERVICE_MS * (1 + at // self.places) + 0.5 * at for at in range(n)]
        times[-1] += self.odd.get(n, 0.0)
        evidence = Evidence(samples_of(ok_rows(*times)), n)
        summary = summarize(evidence.samples, concurrency=n, over_ms=1500)
        return Run(number, "127.0.0.1:8080", evidence, summary, explain(evidence), interrupted=False)


def verdict_at(monkeypatch: pytest.MonkeyPatch, places: int, odd: dict[int, float] | None = None) -> Verdict:
    def session(plan: Plan) -> Any:
        return MadeSession(plan, places, odd or {})

    def plan(n: int) -> Plan:
        return Plan(Target.parse("http://127.0.0.1:8080/"), Workload(n, n), pause_s=0)

    monkeypatch.setattr("loadgen.limit.Session", session)
    search = Search(plan, 64)
    assert list(search.bursts())
    return search.verdict()


def test_a_signal_that_comes_as_a_burst_ends_or_between_two_ends_the_search_with_what_was_fired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def plan(n: int) -> Plan:
        return Plan(Target.parse("http://127.0.0.1:8080/"), Workload(n, n), pause_s=0)

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("loadgen.limit.Session", lambda plan: MadeSession(plan, 2, {}, is_stopped=True))
    search = Search(plan, 64)
    assert [burst.n for burst in search.bursts()] == [1]
    assert search.interrupted

    monkeypatch.setattr("loadgen.limit.Session", lambda plan: MadeSession(plan, 2, {}))
    monkeypatch.setattr("loadgen.limit.rest", interrupt)
    search = Search(plan, 64)
    assert [burst.n for burst in search.bursts()] == [1]
    assert search.interrupted
    assert search.verdict().requests == 1


@pytest.mark.parametrize("places", [1, 2, 5, 7, 20])
def test_one_that_waited_beyond_the_limit_confirms_it(monkeypatch: pytest.MonkeyPatch, places: int) -> None:
    verdict = verdict_at(monkeypatch, places)
    assert (verdict.limit, verdict.sure) == (places, "confirmed")
    assert verdict.sentence.endswith(f"of {places:,} sent at once none waited, of {places + 1:,} some did.")


@pytest.mark.parametrize("odd", [{5: 300.0}, {6: -303.0}, {6: 150.0}])
def test_bursts_that_do_not_fit_the_limit_do_not_confirm_it(
    monkeypatch: pytest.MonkeyPatch, odd: dict[int, float]
) -> None:
    """One waited at the limit; none did beyond it; one was late, and not by a turn."""
    verdict = verdict_at(monkeypatch, 5, odd)
    assert (verdict.limit, verdict.sure) == (5, "shown")


def test_a_burst_of_too_few_to_tell_names_the_limit_that_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadgen.limit.Session", lambda plan: MadeSession(plan, 5, {}))
    search = Search(lambda n: Plan(Target.parse("http://127.0.0.1:8080/"), Workload(n, n), pause_s=0), 64)
    lines = {burst.n: burst.line for burst in search.bursts()}
    assert "no limit met, or one of 5, about" in lines[8]
    assert "no limit met, about" in lines[4]
