"""The short form of the suite over real servers: a dozen of them, once."""

from __future__ import annotations

import pytest

from tests.truth.combinations import Combination
from tests.truth.real import combinations, tried


@pytest.mark.parametrize("combination", combinations(short=True), ids=lambda one: f"{one.spec} {one.fired}")
def test_what_limits_a_real_server_is_named(combination: Combination) -> None:
    for run in tried(combination, runs=1):
        assert not run.wrong, [finding.sentence for finding in run.findings]
