"""What a thread costs: time to make it, memory, address space; against an asyncio task and a greenlet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from loadgen.errors import UsageError
from rig.tasks.hosting import Child
from rig.tasks.room import check_room

SCHEMA: Final = "thread-cost/1"

COST_KINDS: Final = {"threads": "a thread", "asyncio": "an asyncio task", "greenlets": "a greenlet"}
"""What can be made, and what one of it is called."""
MOST_COUNT: Final = 100_000
MOST_ROUNDS: Final = 1_000

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one of a kind costs where so many stand at the same time: medians over the rounds."""

    kind: str
    count: int
    create_us: float
    """To make one and have it run up to its wait."""
    own_kb: float
    """Memory of the process's own (USS); what the kernel keeps for a thread, about 16 KB of stack, is not in it."""
    address_kb: float
    """Address space, most of it never touched: a thread's stack is 8 MB by default (ulimit -s)."""
    all_us: tuple[float, ...]
    """`create_us` of each round."""


def check_cost_plan(counts: Sequence[int], kinds: Sequence[str], rounds: int) -> None:
    """Checks what is asked for.

    Raises:
        UsageError: a count, a kind or the number of rounds is not accepted, or there is no room for so many threads.
    """
    for kind in kinds:
        if kind not in COST_KINDS:
            raise UsageError(f"kind {kind!r} is not accepted: --of takes {', '.join(COST_KINDS)}")
    if not counts or not all(1 <= count <= MOST_COUNT for count in counts):
        raise UsageError(f"--counts takes numbers from 1 to {MOST_COUNT}, as in 10,100,1000")
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"{rounds} rounds are not accepted: --rounds takes 1 to {MOST_ROUNDS}")
    if "threads" in kinds:
        check_room("threads", max(counts))


def costs(counts: Sequence[int], kinds: Sequence[str], rounds: int, progress: Progress | None = None) -> Iterator[Cost]:
    """What one of each kind costs at each count, as it is measured.

    Raises:
        UsageError: see `check_cost_plan`.
        ChildError: so many could not be made.
    """
    check_cost_plan(counts, kinds, rounds)
    for kind in kinds:
        for count in counts:
            seen = []
            for number in range(1, rounds + 1):
                if progress is not None:
                    progress(f"{count:,} {kind} round {number}")
                seen.append(_once(kind, count))
            all_us = tuple(round(answer["ns"] / count / 1000, 3) for answer in seen)
            yield Cost(
                kind,
                count,
                create_us=median(all_us),
                own_kb=median(answer["own_bytes"] for answer in seen) / count / 1024,
                address_kb=median(answer["address_bytes"] for answer in seen) / count / 1024,
                all_us=all_us,
            )


def measure_thread_cost(
    counts: Sequence[int] = (10, 100, 1000, 10000),
    kinds: Sequence[str] = tuple(COST_KINDS),
    rounds: int = 5,
    progress: Progress | None = None,
) -> list[Cost]:
    """What one of each kind costs at each count. Raises as `costs` does."""
    return list(costs(counts, kinds, rounds, progress))


def cost_lines(measured: Sequence[Cost], *, quiet: bool = False) -> Iterator[str]:
    """A table, and a sentence on the highest count."""
    if not measured:
        return
    yield f"{'kind':<10} {'count':>7} {'create us':>10} {'own KB':>9} {'address KB':>11}   each"
    for cost in measured:
        yield (
            f"{cost.kind:<10} {cost.count:>7,} {cost.create_us:>10.1f} {cost.own_kb:>9.1f} {cost.address_kb:>11,.1f}"
        )
    if not quiet:
        most = max(cost.count for cost in measured)
        told = "; ".join(
            f"{COST_KINDS[cost.kind]} took {cost.create_us:.1f} us to make and {cost.own_kb:.1f} KB of memory"
            + (f", in {cost.address_kb / 1024:.1f} MB of address space" if cost.address_kb >= 1024 else "")
            for cost in measured
            if cost.count == most
        )
        yield f"with {most:,} waiting at the same time, {told}."


def cost_data(measured: Sequence[Cost]) -> dict[str, Any]:
    """The JSON object."""
    from loadgen.render.document import environment_data

    return {
        "schema": SCHEMA,
        "environment": environment_data(),
        "costs": [
            {
                "kind": cost.kind,
                "count": cost.count,
                "create_us": round(cost.create_us, 3),
                "own_kb": round(cost.own_kb, 3),
                "address_kb": round(cost.address_kb, 3),
                "all_create_us": list(cost.all_us),
            }
            for cost in measured
        ],
    }


def _once(kind: str, count: int) -> dict[str, int]:
    with Child("rig.tasks.cost_child", kind, str(count)) as child:
        answer: dict[str, int] = json.loads(child.answer())
    return answer
