"""What a request's target asks for: the endpoints of `work`, with the server's own service time for /sleep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from servers.calibrated.response import render
from servers.calibrated.settings import NS_PER_MS, NS_PER_S, Settings
from servers.work import (
    ENDPOINTS,
    METRICS_PATH,
    STATS_PATH,
    Endpoint,
    Parameter,
    Reply,
    Wait,
    Waited,
    advance,
    find,
    parse_query,
)

SLEEP_PATH: Final = "/sleep"
RESET: Final = Parameter("reset", default=0, maximum=1)
"""Whether /stats begins anew after it has answered. Only this server has it."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One target, read. Compared by identity, which is quick: a target's task is kept.

    Attributes:
        endpoint: What to do; None for /stats and /metrics.
        value: The value of its parameter.
        begins: What the work begins with, a wait or at once the reply; None for /stats and /metrics, and for work that
            spins.
        length_ns: How long the wait is.
        metrics: Whether it is /metrics.
    """

    endpoint: Endpoint | None
    value: int
    begins: Wait | Reply | None = None
    length_ns: int = 0
    metrics: bool = False


class Targets:
    """The targets of one server.

    Args:
        settings: Whose service time /sleep takes where it is not told another one.
    """

    def __init__(self, settings: Settings) -> None:
        self._service_ns = round(settings.service_ms * NS_PER_MS)
        sleep = ENDPOINTS[SLEEP_PATH]
        assert sleep.parameter
        # In whole milliseconds, as every parameter is: it is what the answer and an error message say.
        parameter = replace(sleep.parameter, default=round(settings.service_ms))
        self._endpoints = ENDPOINTS | {SLEEP_PATH: replace(sleep, parameter=parameter)}
        # A burst asks for the same thing a thousand times.
        self.read = lru_cache(maxsize=4096)(self._read)

    def _read(self, target: bytes, method: bytes) -> Task:
        """Returns what a request's target (path and query) asks for.

        Raises:
            RequestError: 404, 405 or 400; it says what is accepted.
        """
        path, _, query = target.decode("latin-1").partition("?")
        path = unquote(path)
        endpoint = find(path, method.decode("latin-1"), self._endpoints)
        if path == METRICS_PATH:
            return Task(None, parse_query(METRICS_PATH, None, query), metrics=True)
        if endpoint is None:
            return Task(None, parse_query(STATS_PATH, RESET, query))
        value = endpoint.value(query)
        if endpoint.spins:
            return Task(endpoint, value)
        begins = advance(endpoint.work(value))
        length_ns = round(begins.seconds * NS_PER_S) if isinstance(begins, Wait) else 0
        if endpoint.path == SLEEP_PATH and not query:
            length_ns = self._service_ns
        return Task(endpoint, value, begins, length_ns)


@lru_cache(maxsize=4096)
def answer(task: Task, acquire_ns: int, work_ns: int, connection: bytes, head: bool) -> bytes:
    """Returns the response of a task that waits, from how long it did; see `response.render` for the rest."""
    assert task.endpoint
    steps = task.endpoint.work(task.value)
    advance(steps)
    reply = advance(steps, Waited(acquire_ns, work_ns))
    assert isinstance(reply, Reply), "an endpoint waits no more than once"
    return render(reply, connection=connection, head=head)
