"""The generator's side of the sampler: starts it, and tells it when a run begins and ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Self

from loadgen.resources.seen import Collection, Look, Resources

_END_PATIENCE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Watched:
    """A server on this machine, as the sampler is to watch it."""

    processes: tuple[int, ...] = ()
    """Its first processes; what descends from them, or is in their sessions, is watched too. None: those that listen
    on the port."""
    counters: Path | None = None
    """A file of its own counters."""
    layout: Mapping[str, int] | None = None
    """Which field of that file holds what. See `loadgen.resources.counters`."""


class Sampler:
    """The process that looks. A context manager; one serves all sessions of a command, a run at a time.

    Where it cannot be started (no Linux), or has ended, nothing is seen.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if sys.platform == "linux":
            with suppress(OSError):
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "loadgen.resources.sampler"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # a Ctrl-C at the terminal is the generator's business
                )
        return self

    def __exit__(self, *exc_info: object) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                _opened(pipe).close()
        try:
            process.wait(_END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            pass
        finally:  # also at a second Ctrl-C
            process.kill()
            process.wait()

    @property
    def pid(self) -> int | None:
        """The number of its process; None where there is none."""
        return None if self._process is None else self._process.pid

    def begin(self, server: Watched | None, port: int, client: Sequence[int]) -> None:
        """Begins to look at a server (None: it is elsewhere) and at the generator's processes; returns when it does."""
        self._ask(json.dumps({"server": None if server is None else _order(server, port), "client": [*client]}))

    def end(self, release_ns: int | None) -> Resources | None:
        """Ends looking; what was seen from the release on. None where nothing was, or nothing was released."""
        seen = self._ask("end")
        if not seen or release_ns is None:
            return None
        looks = (Look(*look) for look in seen["looks"])
        collections = seen["collections"]
        return Resources(
            looks=tuple(look._replace(at_ns=look.at_ns - release_ns) for look in looks if look.at_ns >= release_ns),
            queue_limit=seen["queue_limit"],
            collections=None if collections is None else _since(release_ns, collections),
        )

    def _ask(self, order: str) -> dict[str, Any] | None:
        if self._process is None:
            return None
        try:
            _opened(self._process.stdin).write(f"{order}\n".encode())
            _opened(self._process.stdin).flush()
            answer: dict[str, Any] = json.loads(_opened(self._process.stdout).readline())
            return answer
        except (OSError, ValueError):  # it has ended
            self.__exit__()
            return None


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _order(server: Watched, port: int) -> dict[str, Any]:
    counters = None
    if server.counters is not None and server.layout is not None:
        counters = {"path": os.fspath(server.counters), "layout": dict(server.layout)}
    return {"processes": [*server.processes], "port": port, "counters": counters}


def _since(release_ns: int, collections: Iterable[Sequence[int]]) -> tuple[Collection, ...]:
    return tuple(Collection(begin - release_ns, end - release_ns) for begin, end in collections if end > release_ns)
