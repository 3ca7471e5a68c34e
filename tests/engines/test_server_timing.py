"""The server's own figures: each row has those of its own response, and only where they are asked for."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from loadgen.samples import MISSING, Samples
from tests.engines.harness import fire, outcomes
from tests.engines.misbehave import MisbehavingServer


def url_of(server: MisbehavingServer, *fields: str, more: str = "") -> str:
    return server.url(f"/server-timing?fields={quote('|'.join(fields), safe='')}{more}")


def durations(samples: Samples) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in samples.server_timing.items()}


def test_nothing_is_kept_unless_asked_for(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, url_of(server, "work;dur=100.1"), 3)

    assert outcomes(samples) == {"ok": 3}
    assert samples.server_timing == {}


def test_all_metrics_of_all_lines_are_kept(engine: str, server: MisbehavingServer) -> None:
    url = url_of(server, 'acquire;dur=12.3, work;desc="a, b";dur="100.1"', "hit, db;dur=0", ";, =")

    samples = fire(engine, url, 3, server_timing=True)

    assert durations(samples) == {"acquire": [12_300_000] * 3, "work": [100_100_000] * 3, "db": [0] * 3}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_each_row_has_the_figure_of_its_own_response(engine: str, server: MisbehavingServer, method: str) -> None:
    samples = fire(engine, url_of(server, "work;dur=NTH"), 9, 1, server_timing=True, method=method)

    assert durations(samples) == {"work": [1_000_000 * nth for nth in range(1, 10)]}


@pytest.mark.parametrize("only", ["odd", "even"])
def test_equal_responses_have_equal_figures_and_those_without_have_none(
    engine: str, server: MisbehavingServer, only: str
) -> None:
    same = fire(engine, url_of(server, "work;dur=7"), 9, 1, server_timing=True)
    by_turns = fire(engine, url_of(server, "work;dur=7", more=f"&only={only}"), 9, 1, server_timing=True)

    assert durations(same) == {"work": [7_000_000] * 9}
    wanted = [7_000_000 if (nth % 2 == 1) == (only == "odd") else MISSING for nth in range(1, 10)]
    assert durations(by_turns) == {"work": wanted}


def test_a_failed_request_with_a_complete_response_has_its_figures(engine: str, server: MisbehavingServer) -> None:
    samples = fire(engine, url_of(server, "work;dur=3", more="&status=503"), 2, server_timing=True)

    assert outcomes(samples) == {"http-5xx": 2}
    assert durations(samples) == {"work": [3_000_000] * 2}


@pytest.mark.parametrize("path", ["/ok", "/server-timing-early", "/server-timing-trailer", "/server-timing-short"])
def test_figures_come_from_the_head_of_the_complete_response_alone(
    engine: str, server: MisbehavingServer, path: str
) -> None:
    samples = fire(engine, server.url(path), 4, 2, server_timing=True)

    assert samples.server_timing == {}


def test_metrics_beyond_the_eighth_are_ignored(engine: str, server: MisbehavingServer) -> None:
    url = url_of(server, *(f"m{number};dur={number}" for number in range(20)))

    samples = fire(engine, url, 2, 1, server_timing=True)

    assert durations(samples) == {f"m{number}": [number * 1_000_000] * 2 for number in range(8)}
