"""What the executors must show: rounds on a pool, overlap without one, one interpreter lock, and the same results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from loadgen.kernel import available_cpus
from loadgen.samples import MISSING
from loadgen.summary import NS_PER_MS
from rig.tasks.errors import ChildError, Unavailable
from rig.tasks.hosting import Child
from rig.tasks.kinds import Kind, parse_kinds
from rig.tasks.measure import ExecutorRuns, Measurement, TasksPlan, disagreement, measure_tasks
from rig.tasks.render import tasks_data, tasks_lines
from rig.tasks.work import Work
from servers.errors import ProgramError
from servers.java import tasks
from servers.runtimes import JAVA
from servers.work import integer_steps

MORE_THAN_ONE = 1.1
"""CPU seconds a second that one interpreter lock does not allow."""


def measured(work: str, tasks: int, on: str, runs: int = 1) -> dict[str, ExecutorRuns]:
    plan = TasksPlan(Work.parse(work), tasks, parse_kinds(on), warmup=0, runs=runs)
    return {entry.kind.spec: entry for entry in measure_tasks(plan)}


def causes(entry: ExecutorRuns) -> set[str]:
    return {finding.cause for run in entry.runs for finding in run.findings}


def most_cores(entry: ExecutorRuns) -> float:
    """CPU seconds a second, in the run that had most of them."""
    return max((run.cpu_s or 0.0) / run.wall_ns * 1e9 for run in entry.runs)


@pytest.fixture(scope="module")
def waits() -> dict[str, ExecutorRuns]:
    """D4: 100 tasks of 200 ms."""
    return measured("sleep:200ms", 100, "pool:20,thread-each,asyncio,greenlets,processes:20")


def test_pool_of_20_needs_five_rounds_and_a_thread_each_is_first(waits: dict[str, ExecutorRuns]) -> None:
    pool, each = waits["pool:20"].runs[0], waits["thread-each"].runs[0]
    assert pool.wall_ns >= 5 * 200 * NS_PER_MS
    assert each.wall_ns <= 3 * 200 * NS_PER_MS
    assert each.wall_ns < pool.wall_ns


def test_limit_of_a_pool_is_found(waits: dict[str, ExecutorRuns]) -> None:
    for spec in ("pool:20", "processes:20"):
        limits = [f for f in waits[spec].runs[0].findings if f.cause == "concurrency-limit"]
        assert [f.details["limit"] for f in limits] == [20]
        assert limits[0].details["waves"] == [20] * 5
        assert "20 + 20 + 20 + 20 + 20: the pool works on 20 tasks at once" in limits[0].sentence


@pytest.mark.parametrize("spec", ["thread-each", "asyncio", "greenlets"])
def test_without_a_pool_waits_overlap(waits: dict[str, ExecutorRuns], spec: str) -> None:
    assert "overlapped" in causes(waits[spec])
    assert "concurrency-limit" not in causes(waits[spec])


def test_sentences_speak_of_tasks(waits: dict[str, ExecutorRuns]) -> None:
    for entry in waits.values():
        for finding in entry.runs[0].findings:
            assert "server" not in finding.sentence
            assert "request" not in finding.sentence
            assert "TCP" not in finding.sentence


def test_rows_hold_submitting_beginning_and_end(waits: dict[str, ExecutorRuns]) -> None:
    for entry in waits.values():
        run = entry.runs[0]
        rows = run.samples
        assert len(rows) == 100
        assert (rows.due >= 0).all()
        assert (rows.begun >= rows.due).all()
        assert (rows.done - rows.begun >= 200 * NS_PER_MS - NS_PER_MS).all()
        assert rows.done.max() <= run.wall_ns
        assert (rows.connected == MISSING).all()
        assert rows.ok.all()


def test_results_are_the_same_on_all(waits: dict[str, ExecutorRuns]) -> None:
    assert {run.checksum for entry in waits.values() for run in entry.runs} == {sum(range(100))}
    assert disagreement(list(waits.values())) is None


def test_result_of_computing_is_that_of_the_steps() -> None:
    entries = measured("cpu:1000", 5, "pool:2,thread-each,asyncio,greenlets,processes:2")
    assert {entry.runs[0].checksum for entry in entries.values()} == {
        sum(integer_steps(1000, task + 1) for task in range(5))
    }


def test_threads_do_not_compute_side_by_side() -> None:
    entries = measured("cpu:200000", 6, "pool:1,pool:2", runs=5)
    quickest = {spec: min(run.wall_ns for run in entry.runs) for spec, entry in entries.items()}
    assert quickest["pool:2"] > 0.7 * quickest["pool:1"]  # side by side it would take half
    assert most_cores(entries["pool:2"]) < MORE_THAN_ONE
    assert causes(entries["pool:1"]) == {"serial"}


@pytest.mark.skipif(available_cpus() < 2, reason="one CPU: processes cannot compute side by side either")
def test_processes_compute_side_by_side() -> None:
    idle_s, begun = psutil.cpu_times().idle, time.perf_counter()
    # A busy machine does not show it in each run; under one interpreter lock, none would.
    runs = (measured("cpu:300000", 6, "processes:2")["processes:2"] for _ in range(10))
    if not any(most_cores(entry) > MORE_THAN_ONE for entry in runs):
        idle = (psutil.cpu_times().idle - idle_s) / (time.perf_counter() - begun)
        assert idle < 0.5, f"{idle:.1f} CPUs were idle and not used"
        pytest.skip(f"other work left {idle:.1f} CPUs idle: too few to compute side by side on")


def test_spinning_on_the_event_loop_is_one_after_another() -> None:
    entry = measured("spin:20ms", 10, "asyncio")["asyncio"]
    assert causes(entry) == {"serial"}
    assert entry.runs[0].wall_ns >= 10 * 20 * NS_PER_MS


def test_runs_are_kept_and_the_median_counts() -> None:
    entry = measured("sleep:5ms", 4, "asyncio", runs=3)["asyncio"]
    assert [run.number for run in entry.runs] == [1, 2, 3]
    walls = sorted(run.wall_ns for run in entry.runs)
    assert entry.median_ms == walls[1] / NS_PER_MS
    assert entry.throughput == pytest.approx(4 / walls[1] * 1e9)


def test_lines_and_document(waits: dict[str, ExecutorRuns]) -> None:
    entries = list(waits.values())
    lines = list(tasks_lines(entries))
    starts = [line for line in lines if line.startswith("I/O wait / ")]
    assert len(starts) == len(entries)
    assert len({line.index("median=") for line in starts}) == 1
    assert lines[-1].startswith("100 tasks that wait 200 ms went through 20 threads in 5 rounds, about 1.")
    assert "on asyncio the waits overlapped, about 0." in lines[-1]
    assert not any(line.startswith("why:") or "rounds" in line for line in tasks_lines(entries, quiet=True))
    data = tasks_data(entries[0].plan, entries)
    assert [entry["executor"] for entry in data["executors"]] == list(waits)
    assert data["executors"][0]["runs"][0]["result"] == sum(range(100))


def test_task_alone_is_measured_where_the_cpu_was_shared() -> None:
    entry = measured("cpu:1000000", 8, "pool:8")["pool:8"]
    if causes(entry) == {"cpu-shared"}:  # a busy machine may leave too little of the CPU to see it used
        assert entry.runs[0].evidence.server.lone_ns


def test_spinning_threads_share_one_interpreter_lock() -> None:
    entry = measured("spin:50ms", 8, "pool:8")["pool:8"]
    assert causes(entry) <= {"cpu-shared", "serial"}  # serial: none began before the one before had ended
    lines = list(tasks_lines([entry]))
    assert not any("waits" in line for line in lines)
    if causes(entry) == {"cpu-shared"} and entry.kind.is_locked:
        assert "one interpreter lock lets one compute at a time" in lines[-1]


def test_java_is_named_as_it_is_asked_for() -> None:
    kind = Kind.parse("java:pool:24")
    assert (kind.form, kind.workers, kind.name, kind.spec) == ("java:pool", 24, "java pool(24)", "java:pool:24")


def test_process_that_fails_says_which_and_why() -> None:
    with Child("rig.tasks.cost_child", "threads", "none") as child, pytest.raises(ChildError) as told:
        child.answer()
    assert str(told.value).startswith("threads none: ")
    assert "invalid literal" in str(told.value)


def pretend_java(monkeypatch: pytest.MonkeyPatch, run_java_tasks: Callable[..., Iterator[SimpleNamespace]]) -> None:
    monkeypatch.setattr(tasks, "require_java", lambda: None)
    monkeypatch.setattr(tasks, "TASKS_BUILD", SimpleNamespace(make=lambda _: None))
    monkeypatch.setattr(tasks, "run_java_tasks", run_java_tasks)


def test_java_that_is_missing_is_said_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "JAVA", replace(JAVA, places=lambda: iter(())))
    with pytest.raises(Unavailable, match=r"^java:virtual: Java 21 or later is needed; none was found; to "):
        measured("sleep:1ms", 2, "asyncio,java:virtual")


def test_java_program_that_cannot_be_built_loses_no_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tasks, "require_java", lambda: None)
    monkeypatch.setattr(tasks, "TASKS_BUILD", replace(tasks.TASKS_BUILD, tools=(), command=lambda: ["false"]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plan = TasksPlan(Work.parse("sleep:1ms"), 2, parse_kinds("asyncio,java:virtual"))
    with Measurement(plan) as measurement, pytest.raises(ProgramError, match="java-tasks could not be built"):
        measurement.carry_out()
    assert not any(entry.runs for entry in measurement.measured)


def test_runs_of_a_jvm_are_read_as_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run_java_tasks(*arguments: object) -> Iterator[SimpleNamespace]:
        asked.append(arguments)
        for _ in range(2):
            begun = [0, 0, 50_000_000, 50_000_000]
            done = [at + 50_000_000 for at in begun]
            yield SimpleNamespace(wall_ns=110_000_000, checksum=6, begun_ns=begun, done_ns=done)

    pretend_java(monkeypatch, run_java_tasks)
    entries = measured("sleep:50ms", 4, "java:pool:2,asyncio", runs=2)
    assert asked == [("sleep:50", 4, "pool:2", 0, 2)]
    java = entries["java:pool:2"]
    assert [(run.number, run.wall_ns) for run in java.runs] == [(1, 110_000_000), (2, 110_000_000)]
    assert causes(java) == {"concurrency-limit"}
    assert disagreement(list(entries.values())) is None


def test_another_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    other = SimpleNamespace(wall_ns=60_000_000, checksum=7, begun_ns=[0, 0], done_ns=[50_000_000] * 2)
    pretend_java(monkeypatch, lambda *_: iter([other]))
    told = disagreement(list(measured("sleep:50ms", 2, "asyncio,java:virtual").values()))
    assert told is not None
    assert told.startswith("the results differ: run 1 on asyncio came to 1, run 1 on java virtual to 7;")
