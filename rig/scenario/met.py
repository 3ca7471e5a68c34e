"""Whom the requests of an ask met, in words. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from loadgen.explain.words import counted, joined

_PROCESS: Final = "process"
_WITHIN: Final = {"thread": "thread_id", "task": "task", "greenlet": "greenlet"}
"""What serves within a process, and the key by which one is told from another."""


def met_words(bodies: Sequence[str]) -> tuple[str, str]:
    """A cell and a sentence on answers such as those of /thread: `3 threads of 1 process`, and `3 requests at once met
    3 different threads`; of other answers, how many were different."""
    answers = [_served_by(body) for body in bodies]
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(bodies):
        different = len(set(bodies))
        return f"{different} different answer{'' if different == 1 else 's'}", ""
    processes = len({answer[_PROCESS] for answer in known})
    within = {
        noun: len({(answer[_PROCESS], answer[key]) for answer in known})
        for noun, key in _WITHIN.items()
        if all(answer.get(key) is not None for answer in known)
    }
    met = [counted(number, noun) for noun, number in within.items()]
    cell = f"{joined(met[::-1])} of {counted(processes, _PROCESS, 'processes')}"
    noun, number = list(within.items())[-1]
    requests = f"{counted(len(bodies), 'request')}{' at once' if len(bodies) > 1 else ''}"
    told = f"{requests} met {_different(number, noun)}"
    if noun != "thread":
        told += f" on {_different(within['thread'], 'thread')}"
    if processes > 1:
        told += f", in {processes} processes"
    if noun == "greenlet" and number < len(bodies):
        told += ": at least, for gevent gives the number of a greenlet that has ended to another one"
    return cell, told


def _different(number: int, noun: str) -> str:
    return f"one and the same {noun}" if number == 1 else f"{number} different {noun}s"


def _served_by(body: str) -> dict[str, Any] | None:
    """The answer of /thread; None where it is something else."""
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    is_of_thread = isinstance(answer, dict) and all(answer.get(key) is not None for key in (_PROCESS, "thread_id"))
    return answer if is_of_thread else None
