"""The sentence on requests that were given up."""

from __future__ import annotations

import pytest

from loadgen.explain import Evidence, explain
from loadgen.outcome import Outcome
from loadgen.samples import MISSING
from tests.loadgen.make import failed_rows, samples_of


@pytest.mark.parametrize(
    ("after_ms", "said"),
    [(5.2, "5.2 ms"), (20.4, "20 ms"), (300.0, "300 ms"), (999.0, "999 ms"), (1_050.0, "1.1 s"), (60_001.0, "60 s")],
)
def test_the_time_told_has_the_unit_that_shows_it(after_ms: float, said: str) -> None:
    rows = [row | {"first_byte": MISSING} for row in failed_rows(Outcome.TIMEOUT, after_ms, after_ms + 5)]
    findings = explain(Evidence(samples_of(rows), len(rows)))
    (finding,) = [finding for finding in findings if finding.cause == "timeout"]
    assert (
        finding.sentence
        == f"2 requests had not ended after {said} and were given up: 2 while waiting for the first byte."
    )
