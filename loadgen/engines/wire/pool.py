"""The connections of one run: made before they are needed, connected beforehand, kept between two requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from loadgen.engines.wire.connection import Connection, State
from loadgen.outcome import Outcome


class Pool:
    """All connections that are open.

    Attributes:
        live: by descriptor; those that carry a request, wait for the release, or are kept for another request.
        spare: sockets not yet connected, or connections between two requests; the next is taken from the end.
    """

    def __init__(self, make: Callable[[], Connection]) -> None:
        """`make` gives a connection over a new socket, or raises OSError."""
        self._make = make
        self.live: dict[int, Connection] = {}
        self.spare: list[Connection] = []
        self._connecting = 0
        self._failed: list[Outcome] = []
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def prepare(self, count: int) -> None:
        """Makes sockets ahead of the release, so that it has less to do; fewer where descriptors run out."""
        try:
            while len(self.spare) < count:
                self.spare.append(self._make())
        except OSError:
            pass
        self.spare.reverse()  # taken from the end

    def take(self) -> Connection:
        """A connection for a request: one that waits for it, or a new one.

        Raises:
            OSError: there is no room for another socket.
        """
        connection = self.spare.pop() if self.spare else self._make()
        self.live[connection.fd] = connection
        return connection

    def connect(self, count: int) -> asyncio.Future[None]:
        """Begins to connect so many; done when it is known of each whether it could be."""
        self.prepare(count)
        fresh, self.spare = self.spare, []
        self._failed = [Outcome.CLIENT] * (count - len(fresh))
        self._connecting = len(fresh)
        if not fresh:
            self._ready.set_result(None)
        for connection in reversed(fresh):
            self.live[connection.fd] = connection
            connection.connect()
        return self._ready

    def preconnected(self, connection: Connection, failed: Outcome | None) -> None:
        """A connection without a request is established, or could not be."""
        if failed is not None:
            self._failed.append(failed)
            del self.live[connection.fd]
        self._connecting -= 1
        if self._connecting == 0 and not self._ready.done():
            self._ready.set_result(None)

    def connected(self) -> list[Outcome]:
        """Makes what has been connected by now the next to be taken. Returns the outcomes of those that are not."""
        self.spare = [c for c in self.live.values() if c.state in (State.IDLE, State.LOST)]
        for connection in [c for c in self.live.values() if c.state in (State.CONNECTING, State.HANDSHAKE)]:
            connection.close()
            del self.live[connection.fd]
            self._failed.append(Outcome.CONNECT_TIMEOUT)
        return self._failed

    def lost(self, connection: Connection) -> None:
        """A connection between two requests was closed by the server, or will be: the next one takes another.

        One that was made to be released is kept: it is sent nevertheless, and the row will say what came of it.
        """
        if connection.begun_ns:
            self.spare.remove(connection)
            del self.live[connection.fd]
            connection.close()

    def close(self) -> None:
        """Closes every socket that is still open."""
        for connection in [*self.live.values(), *self.spare]:
            connection.close()
