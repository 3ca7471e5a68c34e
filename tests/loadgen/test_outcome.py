from __future__ import annotations

import pytest

from loadgen.outcome import Outcome


def test_the_labels_are_the_closed_list() -> None:
    assert [outcome.label for outcome in Outcome] == [
        "ok", "dns", "refused", "connect-timeout", "tls", "reset", "closed", "stale", "timeout", "protocol", "http-4xx",
        "http-5xx", "client", "cancelled",
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", Outcome)
def test_a_label_names_its_outcome(outcome: Outcome) -> None:
    assert Outcome.from_label(outcome.label) is outcome


@pytest.mark.parametrize("label", ["", "OK?", "late", "0"])
def test_no_other_text_is_a_label(label: str) -> None:
    with pytest.raises(KeyError):
        Outcome.from_label(label)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (101, Outcome.OK), (200, Outcome.OK), (204, Outcome.OK), (304, Outcome.OK), (399, Outcome.OK),
        (400, Outcome.HTTP_4XX), (429, Outcome.HTTP_4XX), (499, Outcome.HTTP_4XX),
        (500, Outcome.HTTP_5XX), (503, Outcome.HTTP_5XX), (599, Outcome.HTTP_5XX),
    ],
)  # fmt: skip
def test_a_status_below_400_is_ok(status: int, outcome: Outcome) -> None:
    assert Outcome.from_status(status) is outcome
