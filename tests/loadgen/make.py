"""Samples made by hand and by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from loadgen.outcome import Outcome
from loadgen.samples import MISSING, Samples
from loadgen.summary import NS_PER_MS

Row = dict[str, int]

_DTYPES: dict[str, type[np.signedinteger[Any]]] = {
    "status": np.int16,
    "outcome": np.int8,
    "reused": np.int8,
    "resent": np.int16,
    "target": np.int16,
}


def samples_of(rows: Sequence[Row]) -> Samples:
    """Samples of these rows; a column that a row leaves out has the value of an ok request that took no time."""
    default = {
        "due": 0, "begun": 0, "connected": 0, "first_byte": 0, "done": 0, "bytes_in": 0, "status": 200,
        "outcome": int(Outcome.OK), "reused": 0, "resent": 0, "target": 0,
    }  # fmt: skip
    full = [default | row for row in rows]
    columns: dict[str, Any] = {
        name: np.array([row[name] for row in full], dtype=_DTYPES.get(name, np.int64)) for name in default
    }
    return Samples(**columns)


def ok_rows(*response_ms: float) -> list[Row]:
    """A burst's ok rows with these response times."""
    return [{"done": round(ms * NS_PER_MS)} for ms in response_ms]


def failed_rows(outcome: Outcome, *response_ms: float) -> list[Row]:
    """A burst's failed rows with these response times."""
    return [{"done": round(ms * NS_PER_MS), "outcome": int(outcome), "status": MISSING} for ms in response_ms]


_TIME = st.integers(0, 10**15)
_STAGE = st.just(MISSING) | _TIME


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """A row as an engine can write it: in time order, ok only where it was done."""
    due = draw(_TIME)
    if not draw(st.integers(0, 9)):
        never = {"outcome": int(Outcome.CANCELLED), "status": MISSING, "resent": MISSING}
        return dict.fromkeys(("due", "begun", "connected", "first_byte", "done"), MISSING) | never
    return {
        "due": due,
        "begun": due,
        "connected": draw(_STAGE),
        "first_byte": draw(_STAGE),
        "done": due + draw(_TIME),
        "bytes_in": draw(st.integers(0, 2**40)),
        "status": draw(st.just(MISSING) | st.integers(100, 999)),
        "outcome": int(draw(st.sampled_from(Outcome))),
        "reused": draw(st.integers(0, 1)),
        "resent": draw(st.just(MISSING) | st.integers(0, 32767)),
    }


def timed(samples: Samples, **durations_ms: Sequence[float | None]) -> Samples:
    """The same with the server's own figures by metric; None where it gave none."""
    columns = {
        name: np.array([MISSING if ms is None else round(ms * NS_PER_MS) for ms in values], dtype=np.int64)
        for name, values in durations_ms.items()
    }
    return replace(samples, server_timing=columns)


def any_samples(max_size: int = 8) -> st.SearchStrategy[Samples]:
    """Samples of one request or more."""
    return st.lists(rows(), min_size=1, max_size=max_size).map(samples_of)


@st.composite
def timed_samples(draw: st.DrawFn) -> Samples:
    """The same with the server's own figures, each given for one request at least."""
    samples = draw(any_samples(5))
    column = st.lists(_STAGE, min_size=len(samples), max_size=len(samples)).filter(lambda values: max(values) >= 0)
    columns = draw(
        st.dictionaries(st.from_regex(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}", fullmatch=True), column, max_size=8)
    )
    return replace(samples, server_timing={name: np.array(values, dtype=np.int64) for name, values in columns.items()})
