"""Whom requests met, by answers that are made up."""

from __future__ import annotations

import json

import pytest

from rig.scenario.met import met_words


def answer(process: int, thread: int, *, task: str | None = None, greenlet: int | None = None) -> str:
    return json.dumps({"process": process, "thread": "t", "thread_id": thread, "greenlet": greenlet, "task": task})


@pytest.mark.parametrize(
    ("bodies", "cell", "told"),
    [
        ([answer(1, n) for n in (1, 2, 3)], "3 threads of 1 process", "3 requests at once met 3 different threads"),
        ([answer(1, 1)] * 3, "1 thread of 1 process", "3 requests at once met one and the same thread"),
        (
            [answer(1, 1), answer(2, 2), answer(2, 2)],
            "2 threads of 2 processes",
            "3 requests at once met 2 different threads, in 2 processes",
        ),
        (
            [answer(1, 1, task=name) for name in "abc"],
            "3 tasks and 1 thread of 1 process",
            "3 requests at once met 3 different tasks on one and the same thread",
        ),
        (
            [answer(1, 1, greenlet=number) for number in (0, 1, 0)],
            "2 greenlets and 1 thread of 1 process",
            "3 requests at once met 2 different greenlets on one and the same thread: at least, for gevent gives the"
            " number of a greenlet that has ended to another one",
        ),
        ([answer(1, 1)], "1 thread of 1 process", "1 request met one and the same thread"),
        (["a", "b", "a"], "2 different answers", ""),
        ([answer(1, 1), "(500: no)"], "2 different answers", ""),
    ],
)
def test_whom_requests_met(bodies: list[str], cell: str, told: str) -> None:
    assert met_words(bodies) == (cell, told)
