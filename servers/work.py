"""What the endpoints do, once, for every server.

An endpoint is a generator: where it would wait, it yields a `Wait` and is resumed with what the wait took. How the
wait is done (a thread that sleeps, a greenlet, a coroutine) is the business of `waiting`. Nothing here knows HTTP
libraries, and nothing here blocks, except `/block` and `/cpu`, whose purpose that is.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass
from typing import Final
from urllib.parse import parse_qsl

from servers.errors import RequestError
from servers.metrics import exposition
from servers.stats import Counters

METHODS: Final = ("GET", "HEAD", "POST")
STATS_PATH: Final = "/stats"
METRICS_PATH: Final = "/metrics"
LOOKS: Final = (STATS_PATH, METRICS_PATH)
"""The paths at which a server tells what it counted."""

POOL_SIZE: Final = 20
"""Places in the pool of /downstream, in each process."""

MIXED_STEPS: Final = 100_000
"""What /mixed computes when it has waited: as much as /cpu does unless it is told otherwise."""

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Wait:
    """A request to be resumed after `seconds`; with `pooled`, while holding one of the pool's places."""

    seconds: float
    pooled: bool = False


@dataclass(frozen=True, slots=True)
class Waited:
    """What a wait took: `acquire_ns` until a place was free (0 without pool), `work_ns` from then on."""

    acquire_ns: int
    work_ns: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, complete but for the headers that the server library adds."""

    body: bytes
    content_type: str = TEXT
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


Steps = Generator[Wait, Waited, Reply]


def advance(steps: Steps, waited: Waited | None = None) -> Wait | Reply:
    """Carries the work on to its next wait or to its end; `waited` is what the wait before took, None at the start."""
    try:
        return next(steps) if waited is None else steps.send(waited)
    except StopIteration as end:
        reply: Reply = end.value
        return reply


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter: a whole number from 0 to `maximum`."""

    name: str
    default: int
    maximum: int

    def __str__(self) -> str:
        return f"{self.name}, a whole number from 0 to {self.maximum} (default {self.default})"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path, the one parameter that it takes, if any, and its work; `spins` where that keeps a processor busy."""

    path: str
    work: Callable[[int], Steps]
    parameter: Parameter | None = None
    spins: bool = False

    def value(self, query: str) -> int:
        """The parameter's value in a query string; its default, or 0 without parameter, where it is not given.

        Raises:
            RequestError: 400, on anything else in the query string.
        """
        return parse_query(self.path, self.parameter, query)


def parse_query(path: str, parameter: Parameter | None, query: str) -> int:
    """The value that a query string gives the one parameter of `path`. See `Endpoint.value`."""
    if not query:
        return parameter.default if parameter else 0
    pairs = parse_qsl(query, keep_blank_values=True)
    if parameter is None:
        raise RequestError(400, f"{path} accepts no parameters")
    if len(pairs) != 1 or pairs[0][0] != parameter.name:
        raise RequestError(400, f"{path} accepts {parameter}, once, and nothing else")
    text = pairs[0][1]
    # int() alone would also take '1_000', ' 5' and other scripts' digits, which no other server here does.
    if text.isascii() and text.isdigit() and len(text) <= 12 and int(text) <= parameter.maximum:
        return int(text)
    raise RequestError(400, f"{path} accepts {parameter}, not {text[:40]!a}")


def integer_steps(steps: int, start: int = 1) -> int:
    """The state after `steps` rounds of x = x * 1664525 + 1013904223 mod 2^32, x ^= x >>> 17, begun at `start`."""
    x = start
    for _ in range(steps):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        x ^= x >> 17
    return x


def spin(length_ns: int) -> int:
    """Keeps the processor busy until the clock has moved by so much; returns by how much it did, in nanoseconds."""
    begun = time.perf_counter_ns()
    until = begun + length_ns
    while (now := time.perf_counter_ns()) < until:
        pass
    return now - begun


def _timing(work_ns: int, acquire_ns: int | None = None) -> tuple[tuple[str, str], ...]:
    """The Server-Timing header; durations in milliseconds, as the header's standard has it."""
    acquire = "" if acquire_ns is None else f"acquire;dur={acquire_ns / 1e6:.3f}, "
    return (("Server-Timing", f"{acquire}work;dur={work_ns / 1e6:.3f}"),)


def document(content: Mapping[str, object]) -> bytes:
    """A JSON object as a body."""
    return json.dumps(content).encode() + b"\n"


def _sleep(ms: int) -> Steps:
    waited = yield Wait(ms / 1000)
    return Reply(b"slept %d ms\n" % ms, headers=_timing(waited.work_ns))


def _block(ms: int) -> Steps:
    yield from ()
    return Reply(b"blocked %d ms\n" % ms, headers=_timing(spin(ms * 1_000_000)))


def _cpu(steps: int) -> Steps:
    yield from ()
    begun = time.perf_counter_ns()
    result = integer_steps(steps)
    taken = time.perf_counter_ns() - begun
    return Reply(document({"steps": steps, "result": result}), JSON, headers=_timing(taken))


def _mixed(ms: int) -> Steps:
    waited = yield Wait(ms / 1000)
    begun = time.perf_counter_ns()
    result = integer_steps(MIXED_STEPS)
    taken = waited.work_ns + time.perf_counter_ns() - begun
    return Reply(document({"ms": ms, "steps": MIXED_STEPS, "result": result}), JSON, headers=_timing(taken))


def _thread(_: int) -> Steps:
    yield from ()
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    # Asked of the loaded modules: only the greenlet server has gevent, and this module must not load it.
    gevent = sys.modules.get("gevent")
    greenlet = getattr(gevent.getcurrent(), "minimal_ident", None) if gevent else None
    served_by = {
        "process": os.getpid(),
        "thread": threading.current_thread().name,
        "thread_id": threading.get_native_id(),
        "greenlet": greenlet,
        "task": task.get_name() if task else None,
    }
    return Reply(document(served_by), JSON)


_SMALL: Final = document({"id": 1, "name": "loadrig", "text": "A small document.", "tags": ["small", "fixed"]})


def _json(_: int) -> Steps:
    yield from ()
    return Reply(_SMALL, JSON)


def _downstream(ms: int) -> Steps:
    waited = yield Wait(ms / 1000, pooled=True)
    return Reply(b"waited %d ms downstream\n" % ms, headers=_timing(waited.work_ns, waited.acquire_ns))


ENDPOINTS: Final = {
    endpoint.path: endpoint
    for endpoint in (
        Endpoint("/sleep", _sleep, Parameter("ms", default=1000, maximum=600_000)),
        Endpoint("/block", _block, Parameter("ms", default=1000, maximum=60_000), spins=True),
        Endpoint("/cpu", _cpu, Parameter("steps", default=100_000, maximum=100_000_000), spins=True),
        Endpoint("/mixed", _mixed, Parameter("ms", default=100, maximum=600_000)),
        Endpoint("/thread", _thread),
        Endpoint("/json", _json),
        Endpoint("/downstream", _downstream, Parameter("ms", default=100, maximum=600_000)),
    )
}
"""Every endpoint but `LOOKS`, which are no work and therefore answered outside the gauge."""


def find(path: str, method: str, endpoints: Mapping[str, Endpoint] = ENDPOINTS) -> Endpoint | None:
    """The endpoint that a request is for; None for one of `LOOKS`.

    Raises:
        RequestError: 404 for an unknown path, 405 for a method that is not accepted.
    """
    endpoint = endpoints.get(path)
    if endpoint is None and path not in LOOKS:
        raise not_found()
    if method not in METHODS:
        raise method_not_allowed()
    return endpoint


def look_reply(path: str, counters: Counters, waiting: int | None, query: str) -> Reply:
    """The answer of one of `LOOKS`; `waiting` is how many requests wait in the server, None where it does not tell.

    Raises:
        RequestError: 400, on any parameter.
    """
    parse_query(path, None, query)
    if path == METRICS_PATH:
        return Reply(*exposition(counters, waiting))
    return Reply(document(asdict(counters)), JSON)


def not_found() -> RequestError:
    """What an unknown path gets."""
    return RequestError(404, f"paths here: {' '.join((*ENDPOINTS, *LOOKS))}")


def method_not_allowed() -> RequestError:
    """What a method other than `METHODS` gets."""
    allowed = ", ".join(METHODS)
    return RequestError(405, f"methods accepted: {allowed}", (("Allow", allowed),))


def refusal(error: RequestError) -> Reply:
    """The one-line answer to a refused request."""
    return Reply(f"{error}\n".encode(), status=error.status, headers=error.headers)
