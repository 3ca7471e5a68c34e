"""k6 (Go, its script in JavaScript)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from bench.clients.base import Burst, Client, Paced, Reading, Sustained
from bench.errors import ReadingError

_SCRIPT: Final = """\
import http from 'k6/http';
export const options = {discardResponseBodies: true, summaryTrendStats: ['med', 'p(99)'], %s};
export default () => { http.get('%s'); };
export const handleSummary = (data) => ({stdout: JSON.stringify({
  requests: data.metrics.http_reqs.values.count,
  rps: data.metrics.http_reqs.values.rate,
  failed: data.metrics.http_req_failed.values.rate,
  p50_ms: data.metrics.http_req_duration.values.med,
  p99_ms: data.metrics.http_req_duration.values['p(99)'],
  dropped: data.metrics.dropped_iterations ? data.metrics.dropped_iterations.values.count : 0,
})});
"""


class K6(Client):
    """A script tells it what to do and what to print."""

    name = "k6"
    caveat = "its times leave out the connect; it tells no wall; a user takes megabytes, so no burst above 2,000"
    largest_burst = 2_000
    holds_a_rate = True
    version_arguments = ("version",)

    def burst(self, load: Burst, scratch: Path) -> list[str]:
        """N users, one request each."""
        options = f"scenarios: {{burst: {{executor: 'per-vu-iterations', vus: {load.n}, iterations: 1}}}}"
        return self._command(options, load.url, scratch)

    def sustained(self, load: Sustained, scratch: Path) -> list[str]:
        """By time."""
        return self._command(f"vus: {load.connections}, duration: '{load.seconds}s'", load.url, scratch)

    def paced(self, load: Paced, scratch: Path) -> list[str]:
        """As many users as it may need; it drops what is due while none is free."""
        arrivals = (
            f"rate: {load.rate}, timeUnit: '1s', duration: '{load.seconds}s', preAllocatedVUs: {load.connections}"
        )
        options = f"scenarios: {{open: {{executor: 'constant-arrival-rate', {arrivals}}}}}"
        return self._command(options, load.url, scratch)

    def _command(self, options: str, url: str, scratch: Path) -> list[str]:
        script = scratch / "script.js"
        script.write_text(_SCRIPT % (options, url))
        return [self.program, "run", "--quiet", "--no-usage-report", str(script)]

    def read_burst(self, text: str, scratch: Path) -> Reading:
        """The script's object."""
        result = _result(text)
        return Reading(int(result["requests"]), p50_ms=result["p50_ms"])

    def read_sustained(self, text: str, scratch: Path) -> Reading:
        """The script's object."""
        result = _result(text)
        return Reading(int(result["requests"]), rps=result["rps"])

    def read_paced(self, text: str, scratch: Path) -> Reading:
        """The script's object."""
        result = _result(text)
        if result["dropped"]:
            raise ReadingError(f"{result['dropped']:.0f} requests that were due were dropped")
        return Reading(int(result["requests"]), p50_ms=result["p50_ms"], p99_ms=result["p99_ms"])


def _result(text: str) -> dict[str, float]:
    result: dict[str, float] = json.loads(text[text.index("{") :])
    if result["failed"]:
        raise ReadingError("requests failed")
    return result
