"""/metrics: the counters of `stats` in the text form of Prometheus, read when they are asked for.

Nothing is counted for it, so a request costs what it did; and as the counters are one over all worker processes, it
does not matter which of them answers. The library is imported by the first scrape: a server that nobody scrapes goes
without it, and without what it does at each garbage collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from servers.stats import Counters

if TYPE_CHECKING:
    from prometheus_client import Metric


def exposition(counters: Counters, waiting: int | None) -> tuple[bytes, str]:
    """The metrics as a scrape gets them, and their content type."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
    from prometheus_client.registry import Collector

    class Counted(Collector):
        def collect(self) -> Iterator[Metric]:
            return _families(counters, waiting)

    registry = CollectorRegistry()
    registry.register(Counted())
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4


def _families(counters: Counters, waiting: int | None) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    yield CounterMetricFamily("loadrig_server_requests", "Requests that an endpoint has finished.", counters.served)
    gauges = {
        "in_flight": ("Requests that an endpoint works on now.", counters.in_flight),
        "peak_in_flight": ("The most that were worked on at once.", counters.peak),
        "workers": ("Processes that serve.", counters.workers),
        "concurrency_limit": ("How many the server works on at once; absent: it has no limit.", counters.limit),
        "waiting": ("Requests that wait in the server to be worked on; absent: it does not tell.", waiting),
    }
    for name, (says, value) in gauges.items():
        if value is not None:
            yield GaugeMetricFamily(f"loadrig_server_{name}", says, value)
