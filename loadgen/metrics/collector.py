"""What the generator has counted and found out, as families of Prometheus.

A scrape comes in a thread, at a moment that nobody chose. It counts nothing itself: while a run lasts it waits for the
event loop, which counts what is new at each tick, between two turns of the engine. So the counting never falls into the
midst of a release, and no column is looked at while the engine extends it. Between runs there is nothing to wait for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from loadgen.metrics.counts import BOUNDS_MS, FIRST_INDEX, SCHEMA, Counts, RowCounts
from loadgen.outcome import Outcome
from loadgen.run import WARMUP, Run
from loadgen.samples import Recorder, Samples
from loadgen.summary import NS_PER_S

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.samples import NativeHistogram

_PATIENCE_S: Final = 2.0
"""For so long a scrape waits for a tick; after it, it gets what was counted last."""
_MS_PER_S: Final = 1000


class RunMetrics:
    """An `Observer` and a `Sink` of a session that knows its figures at every moment. Warm-up runs are not counted."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rows: RowCounts | None = None
        """Of this run; None between two."""
        self._asked = self._answered = 0
        self._ended = Counts()
        """Of the runs that have ended."""
        self._taken = Counts()
        """Of this run: rows that are not kept."""
        self._counts = Counts()
        self._in_flight = 0
        self._runs = 0
        self._last: Run | None = None

    def begin(self, run: int, recorder: Recorder) -> None:
        """A run begins."""
        with self._changed:
            self._rows = None if run == WARMUP else RowCounts(recorder)

    def tick(self) -> None:
        """Counts what is new, and answers those who asked."""
        if self._rows is None:
            return
        self._rows.look()
        if self._asked == self._answered:
            return
        with self._changed:
            self._answered = self._asked
            self._in_flight = self._rows.in_flight
            counts = self._ended + self._taken + self._rows.counts
            # Rows on their way from the recorder to `take` are in neither. A counter must not go back meanwhile.
            self._counts = counts.at_least(self._counts)
            self._changed.notify_all()

    def take(self, run: int, samples: Samples) -> None:
        """Takes rows of a run that is too long for them to be kept."""
        with self._changed:
            self._taken.add_samples(samples)

    def add(self, run: Run) -> None:
        """Takes a run that has just ended."""
        with self._changed:
            if run.tally is None:
                self._taken.add_samples(run.samples)
            self._ended += self._taken
            self._taken, self._counts, self._in_flight = Counts(), self._ended, 0
            self._rows, self._last = None, run
            self._runs += 1
            self._changed.notify_all()

    def finish(self) -> None:
        """Nothing is left to do."""

    def families(self, *, native: bool = False) -> list[Metric]:
        """All metrics as they are now; `native`: the histogram in native buckets beside the classic ones.

        From any thread but that of the event loop.
        """
        with self._changed:
            self._asked += 1
            asked = self._asked
            self._changed.wait_for(lambda: self._rows is None or self._answered >= asked, _PATIENCE_S)
            counts, in_flight, runs, last = self._counts, self._in_flight, self._runs, self._last
        return [*_counted(counts, in_flight, runs, native=native), *(() if last is None else _found(last))]


def _counted(counts: Counts, in_flight: int, runs: int, *, native: bool) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    requests = CounterMetricFamily("loadgen_requests", "Requests that ended, by outcome.", labels=["outcome"])
    for outcome in Outcome:
        requests.add_metric([outcome.label], int(counts.outcomes[outcome]))
    yield requests
    yield GaugeMetricFamily("loadgen_in_flight", "Requests begun that have not ended.", in_flight)
    bounds = [*(repr(bound / _MS_PER_S) for bound in BOUNDS_MS), "+Inf"]
    buckets = list(zip(bounds, counts.classic.cumsum().tolist(), strict=True))
    name, says = "loadgen_response_time_seconds", "Response time of the ok requests, the connect included."
    times = HistogramMetricFamily(name, says, buckets, counts.sum_ns / NS_PER_S)
    if native:
        times.add_sample(name, {}, 0, native_histogram=_native(counts))
    yield times
    yield CounterMetricFamily("loadgen_resent", "Requests whose connection retransmitted.", counts.resent)
    yield CounterMetricFamily("loadgen_runs", "Runs that have ended, warm-up left out.", runs)


def _native(counts: Counts) -> NativeHistogram:
    """The native buckets: spans of those that are not empty, each given by its difference to the one before."""
    from prometheus_client.samples import BucketSpan, NativeHistogram

    spans: list[BucketSpan] = []
    deltas: list[int] = []
    after, before = 0, 0
    for place in counts.native.nonzero()[0].tolist():
        index, count = place + FIRST_INDEX, int(counts.native[place])
        if spans and index == after:
            spans[-1] = spans[-1]._replace(length=spans[-1].length + 1)
        else:
            spans.append(BucketSpan(index - after, 1))
        deltas.append(count - before)
        after, before = index + 1, count
    total = int(counts.native.sum())
    return NativeHistogram(total, counts.sum_ns / NS_PER_S, SCHEMA, 0.0, 0, pos_spans=spans, pos_deltas=deltas)


def _found(run: Run) -> Iterator[Metric]:
    """What is known of a run when it has ended; what is not known of it is left out."""
    from prometheus_client.core import GaugeMetricFamily

    summary, release_ns, wall_ns = run.summary, run.summary.release_ns, run.summary.wall_ns
    waves = next((each for finding in run.findings if (each := finding.details.get("waves"))), None)
    limit = next((each for finding in run.findings if (each := finding.details.get("limit"))), None)
    gauges = {
        "waves": ("Waves in which the requests were served, where that was found.", waves and len(waves)),
        "limit": ("The limit that was found.", limit),
        "release_seconds": ("First to last request begun.", None if release_ns is None else release_ns / NS_PER_S),
        "wall_seconds": ("Release to the last completion.", None if wall_ns is None else wall_ns / NS_PER_S),
        "late_requests": (f"Requests that took longer than {summary.over_ms} ms.", summary.over),
        "loop_lag_p99_seconds": ("How late the generator's event loop was.", run.use.loop_lag_p99_ms / _MS_PER_S),
        "cpu_cores": ("CPU that the generator took.", run.use.cpu_percent / 100),
        "trusted": ("1: the server set the numbers. 0: the generator did.", int(run.trusted)),
    }
    for name, (says, value) in gauges.items():
        if value is not None:
            yield GaugeMetricFamily(f"loadgen_last_run_{name}", f"Last run: {says}", value)
    causes = GaugeMetricFamily(
        "loadgen_last_run_finding_requests", "Last run: requests that each finding accounts for.", labels=["cause"]
    )
    for finding in run.findings:
        causes.add_metric([finding.cause], finding.requests)
    yield causes
