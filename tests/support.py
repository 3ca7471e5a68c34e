"""What several test folders need: a small HTTP server with exact answers, and the console scripts in subprocesses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

PATIENCE_S: Final = 20.0
"""For so long something that must happen is waited for, on a machine that is busy with other things."""

BIN: Final = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Received:
    """A request as the server read it."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    """As sent: order and case kept."""
    body: bytes
    connections: int
    """How many connections the server had taken when it came."""

    def header(self, name: str) -> str | None:
        """The value of the first header of that name, case aside."""
        return next((value for given, value in self.headers if given.lower() == name.lower()), None)


class Server:
    """An HTTP/1.1 server on a free port, in a thread of its own; entered, it listens.

    `/sleep/MS` answers after so many milliseconds, `/timed/MS` so too and says so in Server-Timing, `/status/CODE` with
    that status, `/never` not at all, `/close` by closing the connection; any other path at once. Each answer has the
    body `ok` and keeps the connection unless the request says otherwise.
    """

    def __init__(self, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self.received: list[Received] = []
        self.connections = 0
        """Taken so far."""
        self.at_once = self.peak = 0
        """Requests being worked on: now, and the most so far."""
        self._tls = tls
        self._changed = threading.Condition()
        self._writers: set[asyncio.StreamWriter] = set()

    def url(self, path: str = "/") -> str:
        """The URL of a path here."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def wait_for_requests(self, count: int) -> None:
        """Blocks until so many requests have been read."""
        with self._changed:
            reached = self._changed.wait_for(lambda: len(self.received) >= count, PATIENCE_S)
        assert reached, f"{len(self.received)} of {count} requests came"

    def die(self) -> None:
        """Stops listening and resets every connection, as when a process is killed."""
        done = threading.Event()

        def abort() -> None:
            self._listening.close()
            for writer in self._writers:
                writer.transport.abort()
            done.set()

        self._loop.call_soon_threadsafe(abort)
        assert done.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.create_server((self.host, 0), family=family, backlog=4096)
        self.port: int = listener.getsockname()[1]
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(listener),))
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        # The loop may be younger than this moment only where the body of the `with` did nothing at all.
        with self._changed:
            assert self._changed.wait_for(lambda: hasattr(self, "_stop"), PATIENCE_S)
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    async def _serve(self, listener: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda _loop, _context: None)  # clients that go away are part of the tests
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            self._writers.add(writer)
            task = self._loop.create_task(self._carry(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        self._listening = await asyncio.start_server(connected, sock=listener, ssl=self._tls, backlog=4096)
        stop = asyncio.Event()
        with self._changed:
            self._stop = stop
            self._changed.notify_all()
        await stop.wait()
        self._listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError, ValueError):
                while await self._answer(reader, writer):
                    pass
        finally:
            self._writers.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Reads a request and answers it; whether the connection goes on."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("utf-8").split("\r\n")[:-2]
        method, path, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = tuple((name, value.strip()) for name, _, value in pairs)
        lower = {name.lower(): value for name, value in headers}
        body = await reader.readexactly(int(lower.get("content-length", 0)))
        with self._changed:
            self.received.append(Received(method, path, headers, body, self.connections))
            self.at_once += 1
            self.peak = max(self.peak, self.at_once)
            self._changed.notify_all()
        try:
            status = await self._work(path)
        finally:
            self.at_once -= 1
        if status is None:
            return False
        keep = lower.get("connection", "").lower() != "close"
        bodiless = status == HTTPStatus.NO_CONTENT
        writer.write(
            f"HTTP/1.1 {status} X\r\n".encode()
            + (b"" if bodiless else b"Content-Length: 2\r\n")
            + (f"Server-Timing: work;dur={path[7:]}\r\n".encode() if path.startswith("/timed/") else b"")
            + (b"" if keep else b"Connection: close\r\n")
            + b"\r\n"
            + (b"" if bodiless or method == "HEAD" else b"ok")
        )
        await writer.drain()
        return keep

    async def _work(self, path: str) -> int | None:
        """The status to answer with; None to close instead."""
        match path.partition("?")[0].split("/")[1:]:
            case ["sleep" | "timed", ms]:
                await asyncio.sleep(float(ms) / 1000)
            case ["status", code]:
                return int(code)
            case ["never"]:
                await asyncio.Event().wait()
            case ["close"]:
                return None
        return 200


def unused_port(host: str = "127.0.0.1") -> int:
    """A port on which nothing listens."""
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        port: int = listener.getsockname()[1]
        return port


def script_environment(**more: str) -> dict[str, str]:
    """The environment of a console script: this one, without what would change its output."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR")} | more


def run_script(
    name: str, *arguments: str | bytes, preexec_fn: Callable[[], Any] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a console script to its end, its output kept as text."""
    return subprocess.run(
        [BIN / name, *arguments],
        stdin=subprocess.DEVNULL,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=script_environment(),
        preexec_fn=preexec_fn,
    )


def start_script(name: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Starts a console script, its output piped as text."""
    return subprocess.Popen(
        [BIN / name, *arguments],
        stdin=subprocess.DEVNULL,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
        text=True,
        env=script_environment(),
    )
