from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadgen.explain import Evidence, Finding
from loadgen.outcome import Outcome
from loadgen.output import CsvSink, JsonSink, TextSink
from loadgen.plan import Plan, Target, Workload
from loadgen.render.document import document, plan_data
from loadgen.render.text import failed_line, metrics_line, run_lines, whole_ms, workload_words
from loadgen.run import Run
from loadgen.samples import Recorder, Samples
from loadgen.store import CSV_HEADER, read_csv
from loadgen.summary import summarize
from loadgen.watch import ClientUse
from loadgen.workload import Stage
from tests.document_schema import DOCUMENT
from tests.loadgen.make import any_samples, failed_rows, ok_rows, samples_of, timed

CLIENT = Finding("client", 4, "the generator was slow.", {"release_ms": 3.2})

METRICS = re.compile(
    r"requests=\d+ concurrency=\d+ ok=\d+ failed=\d+ wall_ms=(\d+|n/a)"
    r" min_ms=(\d+|n/a) p50_ms=(\d+|n/a) max_ms=(\d+|n/a) over\d+ms=\d+"
)


def plan_of(requests: int, *, concurrency: int | None = None, over_ms: int = 1500, runs: int = 1) -> Plan:
    target = Target.parse("http://127.0.0.1:8080/sleep")
    return Plan(target, Workload(requests, concurrency or requests), over_ms=over_ms, runs=runs)


def run_of(samples: Samples, *, number: int = 1, findings: tuple[Finding, ...] = (), interrupted: bool = False) -> Run:
    summary = summarize(samples, concurrency=len(samples), over_ms=1500)
    evidence = Evidence(samples, concurrency=len(samples), use=ClientUse(12.34, 0.5, 0.75))
    return Run(number, "127.0.0.1:8080", evidence, summary, findings, interrupted)


def text_of(samples: Samples, **options: object) -> str:
    return "\n".join(run_lines(plan_of(len(samples)), run_of(samples), **options))  # type: ignore[arg-type]


def test_a_run_of_two_waves_reads_as_documented() -> None:
    samples = samples_of(ok_rows(1145.4, *[1200.5] * 199, *[2102.4] * 199, 2154.49))
    assert text_of(samples) == (
        "-- N=400 run 1\n"
        "requests=400 concurrency=400 ok=400 failed=0 wall_ms=2154 min_ms=1145 p50_ms=2102 max_ms=2154 over1500ms=200"
    )


def test_the_servers_own_figures_follow_where_they_are_asked_for() -> None:
    plan = replace(plan_of(3), server_timing=True)
    samples = samples_of(ok_rows(10, 20) + failed_rows(Outcome.TIMEOUT, 60))
    run = run_of(timed(samples, acquire=[0.4, 10.5, None], work=[9, None, None]))
    assert list(run_lines(plan, run, quiet=True))[2:] == [
        "server timing: acquire p50=11 p99=11 max=11, work p50=9 p99=9 max=9 (ms, 2 of 2 responses)",
        "failed: timeout=1",
    ]
    assert list(run_lines(plan_of(3), run, quiet=True))[2:] == ["failed: timeout=1"]
    assert list(run_lines(plan, run_of(samples), quiet=True))[2] == "server timing: none (0 of 2 responses)"
    shown = document(plan, [run])
    jsonschema.validate(shown, DOCUMENT)
    assert shown["plan"]["server_timing"] is True
    assert shown["runs"][0]["server_timing"] == {
        "acquire": {"p50_ms": 10.5, "p99_ms": 10.5, "max_ms": 10.5, "count": 2},
        "work": {"p50_ms": 9.0, "p99_ms": 9.0, "max_ms": 9.0, "count": 1},
    }


def test_failures_stand_on_a_line_of_their_own_after_the_figures() -> None:
    samples = samples_of(ok_rows(10) + failed_rows(Outcome.TIMEOUT, 60, 60) + failed_rows(Outcome.REFUSED, 1, 1, 1))
    assert text_of(samples).split("\n")[1:] == [
        "requests=6 concurrency=6 ok=1 failed=5 wall_ms=60 min_ms=10 p50_ms=10 max_ms=10 over1500ms=0",
        "failed: refused=3 timeout=2",
    ]


def test_a_run_without_any_ok_request_has_no_times() -> None:
    line = text_of(samples_of(failed_rows(Outcome.REFUSED, 0.2, 0.4))).split("\n")[1]
    assert line == ("requests=2 concurrency=2 ok=0 failed=2 wall_ms=0 min_ms=n/a p50_ms=n/a max_ms=n/a over1500ms=0")


def test_a_run_in_which_nothing_began_has_no_wall() -> None:
    assert " wall_ms=n/a min_ms=n/a " in text_of(Recorder(2).samples())


def test_equally_frequent_classes_stand_in_the_order_of_the_list() -> None:
    classes = [outcome for outcome in Outcome if outcome != Outcome.OK]
    samples = samples_of([row for outcome in reversed(classes) for row in failed_rows(outcome, 1)])
    line = failed_line(run_of(samples).summary)
    assert line == "failed: " + " ".join(f"{outcome.label}=1" for outcome in classes)


def test_reasons_follow_and_quiet_leaves_them_out() -> None:
    run = run_of(samples_of(ok_rows(1)), findings=(CLIENT, CLIENT))
    lines = list(run_lines(plan_of(1), run))
    assert lines[2:] == ["why: the generator was slow."] * 2
    assert list(run_lines(plan_of(1), run, quiet=True)) == lines[:2]


@given(any_samples(), st.integers(1, 100_000))
def test_the_figures_are_one_line_of_fixed_keys_whatever_was_measured(samples: Samples, over_ms: int) -> None:
    line = metrics_line(summarize(samples, concurrency=len(samples), over_ms=over_ms))
    assert METRICS.fullmatch(line)
    assert f" over{over_ms}ms=" in line


@given(st.integers(0, 10**14))
@example(499_501)
def test_milliseconds_are_rounded_half_up(ns: int) -> None:
    """Of the figure to the microsecond, as the JSON form has it."""
    exact = Decimal(str(round(ns / 1_000_000, 3)))
    assert whole_ms(ns) == str(exact.quantize(Decimal(1), ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(None, "n/a"), (0, "0"), (499_499, "0"), (499_600, "1"), (500_000, "1"), (1_500_000, "2"), (2_500_000, "3")],
)
def test_a_half_rounds_up_and_no_value_is_said_so(ns: int | None, shown: str) -> None:
    """Of the figure that the JSON form has, which is to the microsecond: a saved run is shown from that."""
    assert whole_ms(ns) == shown


@settings(max_examples=30)
@given(st.lists(any_samples(5), max_size=2), st.booleans())
def test_the_document_keeps_its_schema_whatever_was_measured(runs: list[Samples], interrupted: bool) -> None:
    measured = [
        run_of(samples, number=number, findings=(CLIENT,), interrupted=interrupted)
        for number, samples in enumerate(runs, 1)
    ]
    text = json.dumps(document(plan_of(4), measured), allow_nan=False)
    shown = json.loads(text)
    jsonschema.validate(shown, DOCUMENT)
    for run in shown["runs"]:
        assert run["requests"] == run["ok"] + run["failed"]
        assert run["failed"] == sum(run["failures"].values())
        assert not run["trusted"]


def test_the_document_of_a_failed_run_has_null_for_what_has_no_value() -> None:
    run = document(plan_of(2), [run_of(samples_of(failed_rows(Outcome.DNS, 0, 0)))])["runs"][0]
    assert [run[key] for key in ("min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms", "mean_ms")] == [None] * 7
    assert run["failures"] == {"dns": 2}
    assert run["trusted"] is True


def test_the_document_has_milliseconds_to_the_microsecond() -> None:
    run = document(plan_of(2), [run_of(samples_of(ok_rows(1.2344, 2.5001)))])["runs"][0]
    assert (run["wall_ms"], run["min_ms"], run["max_ms"], run["mean_ms"]) == (2.5, 1.234, 2.5, 1.867)
    assert run["client"] == {
        "cpu_percent": 12.3,
        "loop_lag_p99_ms": 0.5,
        "loop_lag_max_ms": 0.75,
        "workers": 1,
        "all_cpu_percent": 12.3,
        "lost_workers": 0,
    }


def test_secrets_in_headers_stay_out_of_the_document() -> None:
    headers = (("Authorization", "Bearer x"), ("cookie", "id=x"), ("X-Case", "y"))
    plan = Plan(Target.parse("http://h/", headers=headers), Workload(1, 1))
    assert plan_data(plan)["headers"] == [["Authorization", "(redacted)"], ["cookie", "(redacted)"], ["X-Case", "y"]]


def test_text_is_written_as_each_run_ends() -> None:
    file = io.StringIO()
    sink = TextSink(plan_of(1), file, quiet=True)
    sink.add(run_of(samples_of(ok_rows(1)), number=1))
    assert file.getvalue().startswith("-- N=1 run 1\n")
    sink.add(run_of(samples_of(ok_rows(1)), number=2))
    sink.finish()
    assert [line for line in file.getvalue().splitlines() if line.startswith("--")] == ["-- N=1 run 1", "-- N=1 run 2"]
    assert file.getvalue().endswith("\n")


def test_json_is_one_object_also_of_no_run() -> None:
    file = io.StringIO()
    JsonSink(plan_of(1), file).finish()
    shown = json.loads(file.getvalue())
    jsonschema.validate(shown, DOCUMENT)
    assert shown["runs"] == []


def test_csv_is_a_header_and_one_row_a_request() -> None:
    file = io.StringIO(newline="")
    sink = CsvSink(file)
    for number in (1, 2):
        sink.add(run_of(samples_of(ok_rows(1, 2, 3)), number=number))
    sink.finish()
    header, *rows = csv.reader(io.StringIO(file.getvalue()))
    assert tuple(header) == CSV_HEADER
    assert [row[:2] for row in rows] == [[run, request] for run in "12" for request in "012"]
    assert set(read_csv(io.StringIO(file.getvalue()))) == {1, 2}


@pytest.mark.parametrize(
    ("stages", "is_open", "words"),
    [
        ((Stage(30, 1, 1),), False, "1 user for 30 s"),
        ((Stage(5, 0, 64), Stage(5, 64, 1)), False, "0 users to 64 users in 5 s, 64 users to 1 user in 5 s"),
        ((Stage(60, 1, 2000),), True, "1/s to 2,000/s in 60 s"),
    ],
)
def test_a_load_that_lasts_is_headed_by_its_stages(stages: tuple[Stage, ...], is_open: bool, words: str) -> None:
    assert workload_words(Workload(None, 64, stages=stages, is_open=is_open)) == words
