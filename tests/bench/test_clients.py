"""Readers of what the peers print, on what they once printed: samples/<peer>/<kind>/stdout.txt and files beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.clients import PEERS
from bench.clients.base import Client, Reading, middle, search
from bench.clients.fortio import Fortio
from bench.clients.loadgen import Loadgen
from bench.errors import ReadingError

SAMPLES = Path(__file__).parent / "samples"

BURSTS = {
    "ab": Reading(200, p50_ms=1015.747, wall_ms=2037.0),
    "autocannon": Reading(200, p50_ms=1062.0),
    "bombardier": Reading(200, p50_ms=1003.704, wall_ms=1014.215186),
    "h2load": Reading(200, p50_ms=1020.043, wall_ms=1030.0),
    "hey": Reading(7, p50_ms=1062.3, wall_ms=1069.5),
    "k6": Reading(200, p50_ms=1001.6402465),
    "oha": Reading(200, p50_ms=1003.90875, wall_ms=1008.841082),
    "vegeta": Reading(201, p50_ms=1014.909260),
    "wrk": Reading(200, p50_ms=1005.755),
}
SUSTAINED = {
    "ab": Reading(112610, rps=112488.29),
    "autocannon": Reading(41707, rps=41707 / 1.05),
    "bombardier": Reading(80983, rps=80983 / 0.999356013),
    "h2load": Reading(89633, rps=89633.0),
    "hey": Reading(28249, rps=28107.1303),
    "k6": Reading(9652, rps=9309.733844788814),
    "oha": Reading(88617, rps=87833.33795939229),
    "vegeta": Reading(6575, rps=6568.644481757097),
    "wrk": Reading(63699, rps=62358.54),
}
BY_NAME = {peer.name: peer for peer in PEERS}


def assert_close(reading: Reading, expected: Reading) -> None:
    assert reading.requests == expected.requests
    for field in ("p50_ms", "wall_ms", "rps"):
        value, wanted = getattr(reading, field), getattr(expected, field)
        assert value == (None if wanted is None else pytest.approx(wanted)), field


@pytest.mark.parametrize("name", BURSTS)
def test_reads_a_recorded_burst(name: str) -> None:
    folder = SAMPLES / name / "burst"
    text = (folder / "stdout.txt").read_text()
    assert_close(BY_NAME[name](name).read_burst(text, folder), BURSTS[name])


@pytest.mark.parametrize("name", SUSTAINED)
def test_reads_a_recorded_sustained_load(name: str) -> None:
    folder = SAMPLES / name / "sustained"
    text = (folder / "stdout.txt").read_text()
    assert_close(BY_NAME[name](name).read_sustained(text, folder), SUSTAINED[name])


FAILED = {
    "ab": ("Failed requests:        0", "Failed requests:        3"),
    "autocannon": ('"errors": 0', '"errors": 3'),
    "bombardier": ('"others":0', '"others":3'),
    "h2load": ("0 errored", "3 errored"),
    "k6": ('"failed":0', '"failed":0.5'),
    "oha": ('"errorDistribution": {}', '"errorDistribution": {"timeout": 3}'),
    "vegeta": ('"success":1', '"success":0.9'),
    "wrk": ("Requests/sec", "  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec"),
}


@pytest.mark.parametrize("name", FAILED)
def test_failed_requests_are_not_taken_for_a_measurement(name: str) -> None:
    folder = SAMPLES / name / "burst"
    text = (folder / "stdout.txt").read_text()
    good, bad = FAILED[name]
    assert good in text
    with pytest.raises(ReadingError):
        BY_NAME[name](name).read_burst(text.replace(good, bad), folder)


def test_reads_fortio_by_its_schema() -> None:
    text = (
        '{"ActualQPS": 196.0, "ActualDuration": 1020000000, "RetCodes": {"200": 200},'
        ' "DurationHistogram": {"Percentiles": [{"Percentile": 50, "Value": 1.004}]}}'
    )
    assert_close(Fortio("fortio").read_burst(text, SAMPLES), Reading(200, p50_ms=1004.0, wall_ms=1020.0))
    assert_close(Fortio("fortio").read_sustained(text, SAMPLES), Reading(200, rps=196.0))


def test_reads_loadgen_and_the_cpu_of_its_run() -> None:
    text = (
        '{"runs": [{"ok": 200, "failed": 0, "p50_ms": 1001.5, "wall_ms": 1010.0, "throughput_rps": 198.0,'
        ' "client": {"cpu_percent": 50.0}}]}'
    )
    client = Loadgen()
    assert_close(client.read_burst(text, SAMPLES), Reading(200, p50_ms=1001.5, wall_ms=1010.0))
    assert client.read_sustained(text, SAMPLES).cpu_s == pytest.approx(0.505)


def test_output_without_the_figure_is_a_reading_error() -> None:
    with pytest.raises(ReadingError, match="what it printed"):
        search(r"^Requests/sec: (\d+)", "usage: ...")


@pytest.mark.parametrize(("values", "expected"), [([3.0, 1.0, 2.0], 2.0), ([2.0, 1.0], 2.0)])
def test_p50_is_the_value_at_index_half_n(values: list[float], expected: float) -> None:
    assert middle(values) == expected


def test_every_peer_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(PEERS)
    assert all(issubclass(peer, Client) for peer in PEERS)


def test_reads_wrk_at_a_rate_whatever_the_unit() -> None:
    text = (
        "  Latency Distribution\n     50%   40.00us\n     75%   49.00us\n     90%    1.35ms\n     99%    1.25s\n"
        "  215744 requests in 2.01s, 13.79MB read\n"
    )
    reading = BY_NAME["wrk"]("wrk").read_paced(text, SAMPLES)
    assert reading.requests == 215744
    assert reading.p50_ms == pytest.approx(0.04)
    assert reading.p99_ms == pytest.approx(1250)
    reading = BY_NAME["wrk2"]("wrk2").read_paced(text.replace("99% ", "99.000% "), SAMPLES)
    assert reading.p99_ms == pytest.approx(1250)


def test_reads_the_others_at_a_rate() -> None:
    vegeta = '{"success": 1, "requests": 1000, "latencies": {"50th": 90721, "99th": 7695885}}'
    oha = (
        '{"statusCodeDistribution": {"200": 1000}, "errorDistribution": {},'
        ' "latencyPercentiles": {"p50": 0.000090721, "p99": 0.007695885}}'
    )
    k6 = '{"requests": 1000, "rps": 500, "failed": 0, "p50_ms": 0.090721, "p99_ms": 7.695885, "dropped": 0}'
    for name, text in (("vegeta", vegeta), ("oha", oha), ("k6", k6)):
        reading = BY_NAME[name](name).read_paced(text, SAMPLES)
        assert reading.requests == 1000, name
        assert reading.p50_ms == pytest.approx(0.090721), name
        assert reading.p99_ms == pytest.approx(7.695885), name
    with pytest.raises(ReadingError, match="were dropped"):
        BY_NAME["k6"]("k6").read_paced(k6.replace('"dropped": 0', '"dropped": 3'), SAMPLES)


def test_reads_the_percentiles_that_hey_prints() -> None:
    text = "Latency distribution:\n  50%% in 0.0002 secs\n  99%% in 0.0037 secs\n\n  [200]\t53382 responses\n"
    reading = BY_NAME["hey"]("hey").read_paced(text, SAMPLES)
    assert reading.requests == 53382
    assert reading.p50_ms == pytest.approx(0.2)
    assert reading.p99_ms == pytest.approx(3.7)
