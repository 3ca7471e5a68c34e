"""What is read of processes, and of a server's counters."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from time import monotonic_ns

from loadgen.resources.counters import ServerCounters
from loadgen.resources.processes import Paced, Process, Processes, descendants, parse_stat
from servers.stats import LAYOUT, Gauge, StatsFile
from tests.servers.support import eventually

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=sys.stdin)
print(child.pid, flush=True)
child.wait()
"""


def test_name_of_a_process_may_look_like_the_rest() -> None:
    fields = "S 7 8 9 0 -1 0 0 0 0 0 1 2 0 0 20 0 3 0 100 4096 5"
    stat = parse_stat(f"42 (a) b (c) {fields} 0 0\n".encode())
    assert (stat.state, stat.parent, stat.session, stat.threads) == ("S", 7, 9, 3)
    assert stat.rss_bytes == 5 * os.sysconf("SC_PAGE_SIZE")


def test_descendants_and_sessions_are_found_and_ended_ones_left_out() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert descendants([parent.pid]) == {parent.pid, child}
        os.kill(parent.pid, 9)
        # Nobody has waited for it, so it is a zombie; its child belongs to its session still.
        assert eventually(lambda: descendants([parent.pid]) == {child})
        processes = Processes([parent.pid], tree=True)
        use = processes.look()
        assert use is not None
        assert use.threads == 1
        processes.close()
        os.kill(child, 9)


def test_nothing_is_seen_of_those_that_have_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as ended:
        processes = Processes([ended.pid], tree=False)
        assert processes.look() is not None
        ended.kill()
    assert processes.look() is None
    processes.close()


def test_switches_of_threads_that_ended_are_kept() -> None:
    process = Process(os.getpid())
    assert process.context_switches() == 0
    go_on, waiting = threading.Event(), threading.Barrier(9)

    def work() -> None:
        waiting.wait()
        go_on.wait()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    waiting.wait()
    with_threads = process.context_switches()
    go_on.set()
    for thread in threads:
        thread.join()
    without = process.context_switches()
    process.close()
    assert with_threads is not None
    assert without is not None
    assert 8 <= with_threads <= without


def test_descriptors_are_counted() -> None:
    process = Process(os.getpid())
    before = process.descriptors()
    pipes = [os.pipe() for _ in range(10)]
    after = process.descriptors()
    for pair in pipes:
        for descriptor in pair:
            os.close(descriptor)
    process.close()
    assert before is not None
    assert after == before + 20


def test_what_is_dear_is_done_less_often() -> None:
    paced = Paced(0.01)
    assert paced.due()
    paced.took(monotonic_ns() - 1_000_000_000)
    assert not paced.due()


def test_collections_are_told_once_and_in_order(tmp_path: Path) -> None:
    stats = StatsFile.create(tmp_path / "stats", limit=None, processes=1)
    counters = ServerCounters(tmp_path / "stats", LAYOUT)
    assert (counters.in_flight, counters.waiting, counters.collected_ns) == (None, None, None)
    gauge = Gauge(tmp_path / "stats")
    gauge.announce()
    gc.freeze()  # what is here already would make each collection long
    begun = monotonic_ns()
    kept = [[] for _ in range(200_000)]  # type: ignore[var-annotated]
    for _ in range(60):  # more than there are places
        gc.collect()
    del kept
    gc.unfreeze()
    gauge.close()
    gc.collect()
    ended = counters.collections(begun)
    assert len(ended) == LAYOUT["ring_places"]
    assert ended == sorted(ended)
    assert all(begin < end for begin, end in ended)
    assert all(one.end_ns <= two.begin_ns for one, two in pairwise(ended))
    assert counters.collected_ns is not None
    assert sum(end - begin for begin, end in ended) <= counters.collected_ns <= monotonic_ns() - begun + 10**9
    assert counters.in_flight == 0
    assert counters.collections(monotonic_ns()) == []
    counters.close()
    stats.close()
