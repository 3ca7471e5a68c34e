"""`--otlp` against a real HTTP receiver, which reads the protocol buffers that it gets."""

from __future__ import annotations

import gzip
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed: pip install 'loadrig[otel]'")

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from loadgen.errors import UsageError
from loadgen.metrics.collector import RunMetrics
from loadgen.metrics.otlp import OtlpSink
from servers.ports import free_port
from tests.cli.conftest import Loadgen
from tests.support import Server


@dataclass
class Receiver:
    """What came, in order."""

    url: str
    paths: list[str] = field(default_factory=list)
    requests: list[ExportMetricsServiceRequest] = field(default_factory=list)

    def metrics(self, number: int) -> dict[str, Metric]:
        """Those of the sending with that number, by name."""
        (resource,) = self.requests[number].resource_metrics
        attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
        assert attributes["service.name"] == "loadgen"
        (scope,) = resource.scope_metrics
        assert scope.scope.name == "loadgen"
        return {metric.name: metric for metric in scope.metrics}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            received.paths.append(self.path)
            received.requests.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the parent's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        received = Receiver(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield received
        finally:
            http.shutdown()
            thread.join()


def test_each_run_is_sent_as_sum_gauge_and_histogram(loadgen: Loadgen, server: Server, receiver: Receiver) -> None:
    ended = loadgen(server.url("/sleep/20"), "--n", "8", "--runs", "2", "--otlp", receiver.url)
    assert ended.returncode == 0, ended.stderr
    assert receiver.paths == ["/v1/metrics"] * 2
    for number in range(2):
        metrics, counted = receiver.metrics(number), 8 * (number + 1)
        requests = metrics["loadgen_requests"].sum
        assert requests.is_monotonic
        assert {
            point.attributes[0].value.string_value: point.as_double or point.as_int for point in requests.data_points
        }["ok"] == counted
        (point,) = metrics["loadgen_response_time_seconds"].histogram.data_points
        assert (point.count, sum(point.bucket_counts)) == (counted, counted)
        assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
        assert point.sum >= 0.020 * counted
        assert 0 < point.start_time_unix_nano < point.time_unix_nano
        assert metrics["loadgen_last_run_release_seconds"].gauge.data_points
        assert metrics["loadgen_last_run_release_seconds"].unit == "s"


def test_a_path_of_its_own_is_kept(loadgen: Loadgen, server: Server, receiver: Receiver) -> None:
    loadgen(server.url(), "--n", "2", "--otlp", f"{receiver.url}/otlp/v1/metrics")
    assert receiver.paths == ["/otlp/v1/metrics"]


def test_a_collector_that_does_not_answer_is_one_line_and_the_result_stands(loadgen: Loadgen, server: Server) -> None:
    url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
    ended = loadgen(server.url(), "--n", "4", "--runs", "2", "--quiet", "--otlp", url)
    assert ended.returncode == 0
    assert ended.stdout.count(" ok=4 failed=0 ") == 2
    assert ended.stderr == f"loadgen: --otlp {url}: the collector did not take the metrics; the results stand\n"


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)
    with pytest.raises(UsageError, match=re.escape("pip install 'loadrig[otel]'")):
        OtlpSink(RunMetrics(), "http://127.0.0.1:4318", print)


@pytest.mark.parametrize("url", ["collector:4318", "ftp://127.0.0.1", "http://", "http://[::1", "http://127.0.0.1:x"])
def test_what_is_no_url_is_refused_before_anything_is_fired(loadgen: Loadgen, server: Server, url: str) -> None:
    ended = loadgen(server.url(), "--n", "4", "--otlp", url)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"loadgen: --otlp {url}: it takes the http:// or https:// URL of an OTLP/HTTP collector\n"
    assert not server.received
