"""A TCP server on a free loopback port, in a thread of its own: the part that every server of these tests needs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_BACKLOG = 4096
_PATIENCE_S = 10.0


class Serving:
    """Runs `handle` for each connection. Once entered, it listens; leaving it ends all connections."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self._tls = tls
        self._host = host
        self._changed = threading.Condition()
        self._accepted = 0
        self._open = 0
        self._received = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection; when it returns the connection is closed."""
        raise NotImplementedError

    @property
    def accepted(self) -> int:
        """Connections taken so far (behind TLS: handshakes done)."""
        return self._accepted

    def count_request(self) -> None:
        """A request has been read."""
        with self._changed:
            self._received += 1
            self._changed.notify_all()

    def wait_until_received(self, requests: int) -> None:
        """Blocks until that many requests have been read."""
        self._wait(lambda: self._received >= requests, f"{requests} requests")

    def wait_until_all_closed(self) -> None:
        """Blocks until no connection is open."""
        self._wait(lambda: self._open == 0, "all connections closed")

    def _wait(self, reached: Callable[[], bool], what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(reached, _PATIENCE_S), f"waited in vain for {what}"

    def __enter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        self._socket = socket.create_server((self._host, 0), family=family, backlog=_BACKLOG)
        self.port: int = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_PATIENCE_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        # What goes wrong on a connection of a misbehaving server is the purpose, not news.
        self._loop.set_exception_handler(lambda _loop, _context: None)
        tasks: set[asyncio.Task[None]] = set()
        unfinished: set[asyncio.StreamWriter] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            unfinished.add(writer)
            task = self._loop.create_task(self._carry_out(reader, writer, unfinished))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, sock=self._socket, ssl=self._tls, backlog=_BACKLOG)
        await self._stop.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in unfinished:  # of tasks that were cancelled before they began
            writer.transport.abort()
        # TLS handshakes that were never finished: asyncio keeps no public list of them.
        for transport in list(getattr(self._loop, "_transports", {}).values()):
            transport.abort()
        for _ in range(3):
            await asyncio.sleep(0)

    async def _carry_out(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, unfinished: set[asyncio.StreamWriter]
    ) -> None:
        self._count(1)
        try:
            with contextlib.suppress(OSError, EOFError):
                await self.handle(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            unfinished.discard(writer)
            self._count(-1)

    def _count(self, connections: int) -> None:
        with self._changed:
            self._accepted += max(connections, 0)
            self._open += connections
            self._changed.notify_all()


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class FullListener:
    """A listening socket that never accepts, its accept queue full: further SYNs are dropped."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.port: int = self._listener.getsockname()[1]
        self._waiting: list[socket.socket] = []
        while self._connects() and len(self._waiting) < 16:
            pass
        return self

    def _connects(self) -> bool:
        waiting = socket.socket()
        self._waiting.append(waiting)
        waiting.settimeout(0.2)
        try:
            waiting.connect(("127.0.0.1", self.port))
        except TimeoutError:
            return False
        return True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for waiting in self._waiting:
            waiting.close()
        self._listener.close()


class ResettingListener:
    """Accepts, and resets at once."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(_PATIENCE_S)
