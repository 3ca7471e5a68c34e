"""A connection with TLS: a handshake before the first request, and a layer that may hold what the poller cannot see."""

from __future__ import annotations

import ssl

from loadgen.engines.wire.connection import Connection, State
from loadgen.engines.wire.poller import READ, WRITE
from loadgen.outcome import Outcome


class TlsConnection(Connection):
    """As `Connection`, by the `tls` context of its run."""

    __slots__ = ()

    def handle(self, events: int) -> None:
        """Does what the socket is ready for."""
        if self.state == State.HANDSHAKE:
            self._handshake()
        else:
            super().handle(events)

    def _established(self) -> None:
        assert self.run.tls is not None
        try:
            self.sock = self.run.tls.wrap_socket(
                self.sock, server_hostname=self.run.server_hostname, do_handshake_on_connect=False
            )
        except (OSError, ValueError):  # it was reset already
            self._failed(Outcome.TLS)
            return
        self._recv_into = self.sock.recv_into
        self._send = self.sock.send
        self.state = State.HANDSHAKE
        self._handshake()

    def _handshake(self) -> None:
        assert isinstance(self.sock, ssl.SSLSocket)
        try:
            self.sock.do_handshake()
        except ssl.SSLWantReadError:
            self.run.poller.modify(self.fd, READ)
        except ssl.SSLWantWriteError:
            self.run.poller.modify(self.fd, WRITE)
        except (OSError, ValueError):
            self._failed(Outcome.TLS)
        else:
            self.run.poller.modify(self.fd, READ)
            self._ready()

    def _read(self) -> None:
        super()._read()
        assert isinstance(self.sock, ssl.SSLSocket)
        while self.state == State.READING and self.sock.pending():
            super()._read()
