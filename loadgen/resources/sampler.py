"""The process that looks: `python -m loadgen.resources.sampler`.

Reads orders on stdin, one JSON object a line, and answers each with a line on stdout: `begin` with what is to be
watched, `end`, whose answer is what was seen. It ends with its input, which the generator's end closes.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from pathlib import Path
from time import monotonic_ns, process_time_ns
from typing import Any, Final

from loadgen.resources.counters import ServerCounters
from loadgen.resources.processes import Processes, Use
from loadgen.resources.seen import CLIENT, SERVER, Look
from loadgen.sockdiag import SockDiag, owners

_INTERVAL_NS: Final = 50_000_000
_INTERVAL_MOST_NS: Final = 1_000_000_000
_AS_CLOSELY: Final = 6000
"""Looks at one pace: five minutes. A longer run is not looked at as closely, so that what is kept does not grow on."""
_SHARE: Final = 0.02
"""Of one core, at most: where a look takes long, as at a server of thousands of threads, the next one comes later."""
_LEAST_NS: Final = _INTERVAL_NS // 2
"""CPU over a shorter time says nothing."""


class Watching:
    """Looks at one run."""

    def __init__(self, order: dict[str, Any]) -> None:
        """From `server`: null, or `processes`, `port` and `counters`; and `client`: the generator's processes."""
        server = order["server"] or {"processes": [], "port": None, "counters": None}
        self._port: int | None = server["port"]
        self._diag: SockDiag | None = None
        self.queue_limit: int | None = None
        roots: list[int] = server["processes"]
        if self._port is not None:
            roots = self._find_listeners(roots, order["client"])
        self._server = Processes(roots, tree=True) if roots else None
        self._client = Processes(order["client"], tree=False)
        self._counters: ServerCounters | None = None
        if server["counters"] is not None:
            with contextlib.suppress(OSError, ValueError):
                self._counters = ServerCounters(Path(server["counters"]["path"]), server["counters"]["layout"])
        self._begun_ns = self._last_ns = monotonic_ns()
        self._collected_ns = None if self._counters is None else self._counters.collected_ns
        self._interval_ns = _INTERVAL_NS
        self._next_ns = self._begun_ns + _INTERVAL_NS
        self._moments = 0
        self._looks: list[Look] = []

    def _find_listeners(self, roots: list[int], client: list[int]) -> list[int]:
        """The accept queue, and whose it is where that was not said."""
        with contextlib.suppress(OSError):
            self._diag = SockDiag()
            listeners = self._diag.listeners(self._port or 0)
            if listeners:
                self.queue_limit = sum(listener.queue_limit for listener in listeners)
                return roots or owners({listener.inode for listener in listeners}, but={os.getpid(), *client})
        return roots

    def wait_s(self) -> float:
        """Until the next look."""
        return max(0.0, (self._next_ns - monotonic_ns()) / 1e9)

    def look(self, *, last: bool = False) -> None:
        """Looks at both sides."""
        now, cpu_ns = monotonic_ns(), process_time_ns()
        elapsed_ns = now - self._last_ns if now - self._last_ns >= _LEAST_NS or not self._moments else None
        if self._server is not None:
            use = _look(now, SERVER, self._server.look(all_of_it=last), elapsed_ns)
            self._looks.append(use._replace(queue=self._queue(), **self._counted()))
        self._looks.append(_look(now, CLIENT, self._client.look(all_of_it=last), elapsed_ns))
        self._last_ns = now
        self._moments += 1
        if self._moments % _AS_CLOSELY == 0:
            self._interval_ns = min(2 * self._interval_ns, _INTERVAL_MOST_NS)
        dear_ns = round((process_time_ns() - cpu_ns) / _SHARE)
        self._next_ns = max(self._next_ns + self._interval_ns, now + dear_ns)

    def end(self) -> dict[str, Any]:
        """A last look, and all that was seen; times of the monotonic clock."""
        self.look(last=True)
        told = None if self._counters is None or self._counters.collected_ns is None else self._counters
        collections = None if told is None else told.collections(self._begun_ns)
        if self._server is not None:
            self._server.close()
        self._client.close()
        if self._counters is not None:
            self._counters.close()
        if self._diag is not None:
            self._diag.__exit__()
        return {"looks": self._looks, "queue_limit": self.queue_limit, "collections": collections}

    def _queue(self) -> int | None:
        if self._diag is not None and self._port is not None and self.queue_limit is not None:
            with contextlib.suppress(OSError):
                return sum(listener.queue for listener in self._diag.listeners(self._port))
        return None

    def _counted(self) -> dict[str, Any]:
        """By the server's own counters."""
        counters = self._counters
        if counters is None:
            return {}
        before, self._collected_ns = self._collected_ns, counters.collected_ns
        pause_ms = None if self._collected_ns is None else (self._collected_ns - (before or 0)) / 1e6
        return {"in_flight": counters.in_flight, "waiting": counters.waiting, "gc_pause_ms": pause_ms}


def _look(now: int, side: str, use: Use | None, elapsed_ns: int | None) -> Look:
    if use is None:
        return Look(now, side, *[None] * 9)
    percent = None if not elapsed_ns else round(100 * use.cpu_ns / elapsed_ns, 1)
    return Look(
        now, side, percent, use.rss_bytes, use.threads, use.descriptors, use.context_switches, None, None, None, None
    )


def main() -> None:
    """Looks until its input ends."""
    watching: Watching | None = None
    orders = b""
    while True:
        ready, _, _ = select.select([0], [], [], None if watching is None else watching.wait_s())
        if not ready:
            assert watching is not None
            watching.look()
            continue
        data = os.read(0, 65_536)
        if not data:
            return
        orders += data
        while b"\n" in orders:
            line, _, orders = orders.partition(b"\n")
            seen = {} if watching is None else watching.end()  # also where the run before was not told to have ended
            watching = None if line == b"end" else Watching(json.loads(line))
            sys.stdout.write(json.dumps(seen) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
