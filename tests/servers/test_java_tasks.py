"""Tasks on Java's executors, on a real Java."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from servers.errors import ProgramError, RuntimeMissing, UsageError
from servers.java.tasks import TASKS_BUILD, run_java_tasks
from servers.runtimes import JAVA
from tests.servers.support import eventually

MS = 1_000_000


@pytest.fixture(autouse=True, scope="module")
def _java() -> None:
    try:
        JAVA.find()
        TASKS_BUILD.require_tools()
    except RuntimeMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("executor", ["pool:5", "virtual", "thread-each"])
def test_every_task_is_timed_in_each_measured_run(executor: str) -> None:
    runs = list(run_java_tasks("sleep:20", 15, executor, warmup=1, runs=2))
    assert len(runs) == 2
    for run in runs:
        assert run.checksum == sum(range(15))
        assert len(run.begun_ns) == len(run.done_ns) == 15
        for begun, done in zip(run.begun_ns, run.done_ns, strict=True):
            assert 0 <= begun <= done - 20 * MS
            assert done <= run.wall_ns


def test_pool_works_on_as_many_as_it_has_threads() -> None:
    (run,) = run_java_tasks("sleep:30", 12, "pool:4", warmup=0, runs=1)
    done = sorted(run.done_ns)
    assert all(done[index] >= (index // 4 + 1) * 30 * MS for index in range(12))


@pytest.mark.parametrize("executor", ["virtual", "thread-each"])
def test_waits_of_a_thread_each_overlap(executor: str) -> None:
    (run,) = run_java_tasks("sleep:500", 50, executor, warmup=0, runs=1)
    assert max(run.begun_ns) < min(run.done_ns)


def test_cpu_computes_the_same_as_the_servers() -> None:
    total = 0
    for task in range(3):
        x = task + 1
        for _ in range(1000):
            x = (x * 1664525 + 1013904223) % 2**32
            x ^= x >> 17
        total += x
    assert [run.checksum for run in run_java_tasks("cpu:1000", 3, "pool:2", warmup=0, runs=2)] == [total, total]


def test_spin_keeps_the_processor_until_the_clock_has_moved() -> None:
    (run,) = run_java_tasks("spin:15", 2, "pool:2", warmup=0, runs=1)
    assert all(done - begun >= 15 * MS for begun, done in zip(run.begun_ns, run.done_ns, strict=True))
    assert run.checksum == 1


@pytest.mark.parametrize(
    ("work", "executor", "says"),
    [
        ("walk:3", "virtual", "work is sleep:MS, spin:MS or cpu:STEPS, not 'walk:3'"),
        ("sleep", "virtual", "work is sleep:MS, spin:MS or cpu:STEPS, not 'sleep'"),
        ("sleep:1s", "virtual", "sleep is a whole number from 0 to 999999999, not '1s'"),
        ("cpu:10000000001", "virtual", "cpu is a whole number from 0 to 10000000000, not '10000000001'"),
        ("sleep:1", "pool:0", "pool is a whole number from 1 to 999999999, not '0'"),
        ("sleep:1", "fibers", "executors are pool:THREADS, virtual and thread-each, not 'fibers'"),
    ],
)
def test_misuse_is_one_line_that_says_what_is_accepted(work: str, executor: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        list(run_java_tasks(work, 1, executor, warmup=0, runs=1))
    assert str(caught.value) == says


def test_end_by_an_error_is_told_with_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:NoSuchOption")
    with pytest.raises(ProgramError, match=r"^Tasks.java ended with exit status 1$") as caught:
        list(run_java_tasks("sleep:1", 1, "virtual", warmup=0, runs=1))
    assert "NoSuchOption" in caught.value.log_tail


def test_java_ends_when_the_caller_stops() -> None:
    runs = run_java_tasks("sleep:1", 1, "virtual", warmup=0, runs=100_000)
    assert isinstance(runs, Iterator)
    next(runs)
    (java,) = [child for child in psutil.Process().children() if "Tasks" in child.cmdline()]
    runs.close()  # type: ignore[attr-defined]  # a generator
    assert eventually(lambda: not java.is_running())
