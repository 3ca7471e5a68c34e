"""A real Prometheus scrapes a server and a generator, and is asked what it got."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from servers.catalog import parse_spec
from servers.process import RunningServer, start
from tests.metrics.support import Generator, Prometheus, generating, prometheus
from tests.servers.support import eventually

N: Final = 60
LIMIT: Final = 20
DASHBOARD: Final = Path(__file__).parents[2] / "docs" / "grafana.json"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with start(parse_spec(f"threads:threads={LIMIT}")) as running:
        yield running


@pytest.fixture(scope="module")
def generator(server: RunningServer) -> Iterator[Generator]:
    """One that has fired once, and fires again in a minute: its figures stand still."""
    url = f"{server.url}/sleep?ms=400"
    with generating(url, "--n", str(N), "--runs", "2", "--pause", "60s", "--preconnect") as running:
        yield running


@pytest.fixture(scope="module")
def scraping(
    server: RunningServer, generator: Generator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    directory = tmp_path_factory.mktemp("prometheus") / "classic"
    with prometheus(directory, {"server": f"{server.host}:{server.port}", "loadgen": generator.address}) as running:
        assert running.comes_to("loadgen_runs_total", 1)
        yield running


def test_the_server_s_counters_are_found_again(scraping: Prometheus) -> None:
    assert scraping.comes_to("loadrig_server_requests_total", N)
    assert scraping.value("loadrig_server_in_flight") == 0
    assert scraping.value("loadrig_server_peak_in_flight") == LIMIT
    assert scraping.value("loadrig_server_concurrency_limit") == LIMIT
    assert scraping.value("loadrig_server_waiting") == 0


def test_the_generator_s_figures_are_found_again(scraping: Prometheus) -> None:
    assert scraping.value('loadgen_requests_total{outcome="ok"}') == N
    assert scraping.value("sum(loadgen_requests_total)") == N
    assert scraping.value("loadgen_in_flight") == 0
    assert scraping.value("loadgen_response_time_seconds_count") == N
    assert scraping.value("loadgen_last_run_waves") == N / LIMIT
    assert scraping.value("loadgen_last_run_limit") == LIMIT
    assert scraping.value('loadgen_last_run_finding_requests{cause="concurrency-limit"}') == N - LIMIT
    for figure in ("release_seconds", "loop_lag_p99_seconds", "cpu_cores", "wall_seconds"):
        assert scraping.value(f"loadgen_last_run_{figure}") is not None
    # Half the requests end with the second wave, after 0.8 s at the least.
    median = scraping.value("histogram_quantile(0.5, loadgen_response_time_seconds_bucket)")
    assert median is not None
    assert 0.75 <= median <= 3


def test_native_buckets_are_taken_too(server: RunningServer, generator: Generator, tmp_path: Path) -> None:
    targets = {"loadgen": generator.address, "server": f"{server.host}:{server.port}"}
    with prometheus(tmp_path / "native", targets, "--enable-feature=native-histograms") as scraping:
        assert scraping.comes_to("histogram_count(loadgen_response_time_seconds)", N)
        assert scraping.comes_to("loadrig_server_peak_in_flight", LIMIT)  # text, from one that has no histogram
        total = scraping.value("histogram_sum(loadgen_response_time_seconds)")
        fastest = scraping.value("histogram_quantile(0, loadgen_response_time_seconds)")
        median = scraping.value("histogram_quantile(0.5, loadgen_response_time_seconds)")
    assert total is not None
    assert fastest is not None
    assert median is not None
    assert total >= LIMIT * (0.4 + 0.8 + 1.2) * 0.95
    # A bucket's width below 0.4 s and 0.8 s, and more than a classic bucket's above is a busy machine's.
    assert 0.4 / 2 ** (1 / 8) * 0.99 <= fastest <= median
    assert median >= 0.8 / 2 ** (1 / 8) * 0.99


def test_in_flight_is_seen_while_a_load_lasts(server: RunningServer, tmp_path: Path) -> None:
    url = f"{server.url}/sleep?ms=50"
    with (
        generating(url, "-c", "5", "-z", "60s") as generator,
        prometheus(tmp_path / "lasting", {"loadgen": generator.address}) as scraping,
    ):
        assert eventually(lambda: scraping.value("max_over_time(loadgen_in_flight[1m])") == 5, poll_s=0.1)
        assert eventually(lambda: (scraping.value('rate(loadgen_requests_total{outcome="ok"}[1m])') or 0) > 0)
        assert scraping.value("resets(loadgen_response_time_seconds_count[1m])") == 0
        code, _ = generator.interrupt()
    assert code == 130


def test_every_query_of_the_dashboard_has_an_answer(scraping: Prometheus) -> None:
    for query in queries(json.loads(DASHBOARD.read_text())):
        asked = query.replace("$__rate_interval", "5m").replace("$generator", ".*").replace("$server", ".*")
        # What is compared with 0 is a rate, and all requests may have come before the first scrape.
        assert scraping.ask(asked.removesuffix(" > 0")), query


def queries(dashboard: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
