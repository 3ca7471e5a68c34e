"""The metrics to an OpenTelemetry collector, by its SDK's values and exporter. Needs the extra `otel`.

The SDK's own instruments are not used: they would have to be told of each request, and are asked for histograms by
nobody. What Prometheus is shown is sent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from loadgen.errors import UsageError
from loadgen.metrics.collector import RunMetrics
from loadgen.run import Run

if TYPE_CHECKING:
    import prometheus_client
    from opentelemetry.sdk.metrics.export import Metric, MetricsData
    from prometheus_client.samples import Sample

_TIMEOUT_S: Final = 3.0
"""For so long one sending may take, repetitions included: the next run waits for it."""
_PATH: Final = "/v1/metrics"


class OtlpSink:
    """Sends what `RunMetrics` knows when a run has ended. To be given the run after that."""

    def __init__(self, metrics: RunMetrics, url: str, tell: Callable[[str], None]) -> None:
        """To a collector's URL; without a path, to the one that OTLP/HTTP has for metrics. Trouble is told once.

        Raises:
            UsageError: that is no URL, or the SDK is not installed.
        """
        endpoint = _endpoint(url)
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        except ModuleNotFoundError:
            raise UsageError("--otlp needs the OpenTelemetry SDK: pip install 'loadrig[otel]'") from None
        # It logs each trouble, and what it will do about it; the user gets one line.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        self._exporter = OTLPMetricExporter(endpoint, timeout=_TIMEOUT_S)
        self._metrics, self._url, self._tell = metrics, url, tell
        self._begun_ns = time.time_ns()
        self._told = False

    def add(self, run: Run) -> None:
        """Sends all metrics; the run's result stands, whatever comes of it."""
        from opentelemetry.sdk.metrics.export import MetricExportResult

        try:
            result = self._exporter.export(self._data())
        except OSError:  # as its HTTP library words what went wrong
            result = MetricExportResult.FAILURE
        if result is not MetricExportResult.SUCCESS and not self._told:
            self._told = True
            self._tell(f"loadgen: --otlp {self._url}: the collector did not take the metrics; the results stand")

    def finish(self) -> None:
        """Lets go of the connection."""
        self._exporter.shutdown()

    def _data(self) -> MetricsData:
        from importlib.metadata import version

        from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        scope = InstrumentationScope("loadgen", version("loadrig"))
        now_ns = time.time_ns()
        metrics = [_metric(family, self._begun_ns, now_ns) for family in self._metrics.families()]
        resource = Resource.create({"service.name": "loadgen"})
        return MetricsData([ResourceMetrics(resource, [ScopeMetrics(scope, metrics, "")], "")])


def _endpoint(url: str) -> str:
    """Where to send to.

    Raises:
        UsageError: that is no URL.
    """
    try:
        parts = urlsplit(url)
        accepted = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        accepted = False
    if not accepted:
        raise UsageError(f"--otlp {url}: it takes the http:// or https:// URL of an OTLP/HTTP collector")
    return url if parts.path.strip("/") else parts._replace(path=_PATH).geturl()


def _metric(family: prometheus_client.Metric, begun_ns: int, now_ns: int) -> Metric:
    """A family of Prometheus's as OpenTelemetry has it: a sum, a gauge or a histogram."""
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Gauge,
        Histogram,
        HistogramDataPoint,
        Metric,
        NumberDataPoint,
        Sum,
    )

    if family.type == "histogram":
        bounds, counts, total_s = _buckets(family.samples)
        # Least and most are optional in the protocol, and None is how its encoder is told that they are not known.
        least_and_most: Any = (None, None)
        point = HistogramDataPoint({}, begun_ns, now_ns, sum(counts), total_s, counts, bounds, *least_and_most)
        histogram = Histogram([point], AggregationTemporality.CUMULATIVE)
        return Metric(family.name, family.documentation, "s", histogram)
    points = [NumberDataPoint({**each.labels}, begun_ns, now_ns, each.value) for each in family.samples]
    data = Sum(points, AggregationTemporality.CUMULATIVE, True) if family.type == "counter" else Gauge(points)
    return Metric(family.name, family.documentation, "s" if family.name.endswith("_seconds") else "1", data)


def _buckets(samples: Sequence[Sample]) -> tuple[list[float], list[int], float]:
    """Bounds, the counts of each bucket alone (one more than bounds), and the sum."""
    cumulative = [int(each.value) for each in samples if each.name.endswith("_bucket")]
    bounds = [float(each.labels["le"]) for each in samples if each.name.endswith("_bucket")]
    counts = [count - before for count, before in zip(cumulative, [0, *cumulative], strict=False)]
    return bounds[:-1], counts, next(each.value for each in samples if each.name.endswith("_sum"))
