from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from servers.stats import Counters, Gauge, StatsFile


def test_gauge_alone_counts_in_flight_peak_and_served() -> None:
    gauge = Gauge(None)
    with gauge, gauge:
        assert gauge.read() == Counters(in_flight=2, peak=2, served=0, workers=0, limit=None)
    with gauge:
        pass
    assert gauge.read() == Counters(in_flight=0, peak=2, served=3, workers=0, limit=None)
    gauge.close()


def test_failed_request_is_no_longer_in_flight() -> None:
    gauge = Gauge(None)
    with contextlib.suppress(RuntimeError), gauge:
        raise RuntimeError
    assert gauge.read().in_flight == 0
    gauge.close()


def test_server_that_keeps_the_count_itself() -> None:
    gauge = Gauge(None)
    for in_flight in (1, 2, 1):
        gauge.show(in_flight)
    gauge.finish()
    assert gauge.read() == Counters(in_flight=1, peak=2, served=1, workers=0, limit=None)
    gauge.reset()
    assert gauge.read() == Counters(in_flight=1, peak=1, served=0, workers=0, limit=None)
    gauge.close()


def test_starter_reads_what_the_server_counts(tmp_path: Path) -> None:
    stats = StatsFile.create(tmp_path / "stats", limit=7, processes=1)
    gauge = Gauge(tmp_path / "stats")
    gauge.announce()
    with gauge:
        assert stats.read() == Counters(in_flight=1, peak=1, served=0, workers=1, limit=7)
    stats.reset_peak()
    assert stats.read() == Counters(in_flight=0, peak=0, served=1, workers=1, limit=7)
    gauge.close()
    stats.close()


COUNTING = """
import sys
from pathlib import Path
from servers.stats import Gauge
gauge = Gauge(Path(sys.argv[1]))
for _ in range(2000):
    with gauge:
        pass
"""


def test_no_count_is_lost_between_processes(tmp_path: Path) -> None:
    stats = StatsFile.create(tmp_path / "stats", limit=None, processes=3)
    counting = [subprocess.Popen([sys.executable, "-c", COUNTING, tmp_path / "stats"]) for _ in range(3)]
    assert [process.wait() for process in counting] == [0, 0, 0]
    counters = stats.read()
    assert (counters.in_flight, counters.served) == (0, 6000)
    assert 1 <= counters.peak <= 3
    stats.close()
