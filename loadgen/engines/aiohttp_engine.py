"""The aiohttp engine: what a program that uses aiohttp's client would see, with its connection limit lifted.

How near its columns come to the wire:

- `connected` includes the TLS handshake: aiohttp has no event between the two. So a handshake that stands still until
  the limit is a `connect-timeout`.
- `first_byte` is when the head of the final response has been parsed: later than the first byte by the rest of the
  head, and by interim (1xx) responses.
- `bytes_in` is the head as it would be written with one space after each colon, and the body. Chunk framing and interim
  responses are not counted, and nothing where no complete head came.
- `resent` is MISSING where aiohttp had closed the socket before it could be read: connections not made, reset or closed
  by the server.
- An idle connection that the event loop already knows to be closed is silently replaced by a fresh one; one that dies
  later is `stale`.
- A response that ends with the connection counts as complete also where the connection was reset: aiohttp tells no
  difference.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from contextvars import ContextVar
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.connector import Connection
from yarl import URL

from loadgen.engines import Job
from loadgen.engines.clients import PREPARED, causes, check, os_outcome
from loadgen.engines.course import carry_out
from loadgen.engines.exchange import Exchange, current
from loadgen.errors import UsageError
from loadgen.outcome import Outcome
from loadgen.plan import Header, Target
from loadgen.request import request_headers
from loadgen.tls import tls_context

# aiohttp bounds each header line and their number, not the whole block; the product bounds a connection's memory.
_MAX_LINE_BYTES: Final = 64 * 1024
_MAX_HEADERS: Final = 512

_NO_LIMITS: Final = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
"""Each exchange has its own limit, the same for all engines."""
_SKIPPED: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp would add unasked."""
_TURNS_TO_CLOSE: Final = 3
"""Turns of the event loop after which an aborted transport has closed its socket; TLS has one transport on another."""

_Transports = WeakKeyDictionary[asyncio.BaseProtocol, asyncio.Transport]
_transports: ContextVar[_Transports] = ContextVar("_transports")
"""The connections of the run: aiohttp forgets those that it has begun to close. A transport that has closed lets go of
its protocol, and so leaves."""


class AiohttpEngine:
    """Carries out runs through one `aiohttp.ClientSession` each."""

    async def run(self, job: Job) -> None:
        """As `loadgen.engines.Engine.run`.

        Raises:
            UsageError: the plan asks for what aiohttp cannot do.
        """
        check(job.plan)

        @lru_cache(PREPARED)
        def prepare(target: Target) -> tuple[URL, list[Header]]:
            return _url(job, target), request_headers(job.plan, target)

        async def send(exchange: Exchange) -> None:
            target = exchange.target
            url, headers = prepare(target)
            async with session.request(
                target.method,
                url,
                headers=headers,
                # From a file, because aiohttp warns of large bodies given as bytes.
                data=io.BytesIO(target.body) if target.body else None,
                allow_redirects=False,
                server_hostname=target.host,
            ) as response:
                exchange.bytes_in = _head_bytes(response)
                if job.plan.server_timing:
                    exchange.server_timing = response.headers.getall("Server-Timing", ())
                async for chunk in response.content.iter_any():
                    exchange.bytes_in += len(chunk)

        transports: _Transports = WeakKeyDictionary()
        _transports.set(transports)
        try:
            async with _session(job) as session:
                await carry_out(job, [send] * job.schedule.in_flight, _classify)
        finally:
            await _abort(transports)


async def _abort(transports: _Transports) -> None:
    """Ends connections that aiohttp has let go of and that are still saying goodbye, as TLS does."""
    for transport in list(transports.values()):
        transport.abort()
    for _ in range(_TURNS_TO_CLOSE):
        await asyncio.sleep(0)


def _url(job: Job, target: Target) -> URL:
    """Where to connect. The address stands in the host's place, so that nothing is resolved again: the Host header and
    the name in TLS are given apart."""
    address = job.address
    scope = f"%{address.sockaddr[3]}" if len(address.sockaddr) == 4 and address.sockaddr[3] else ""
    host = f"[{address.ip}{scope}]" if ":" in address.ip else address.ip
    return URL(f"{target.scheme}://{host}:{address.sockaddr[1]}{target.path}", encoded=True)


def _session(job: Job) -> aiohttp.ClientSession:
    context = tls_context(job.plan.target)
    connector = aiohttp.TCPConnector(
        limit=0,
        ssl=True if context is None else context,
        force_close=not job.plan.workload.reuses_connections,
        keepalive_timeout=None,
        happy_eyeballs_delay=None,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        max_field_size=_MAX_LINE_BYTES,
        max_headers=_MAX_HEADERS,
        max_line_size=_MAX_LINE_BYTES,
        response_class=_Response,
        skip_auto_headers=_SKIPPED,
        timeout=_NO_LIMITS,
        trace_configs=[_tracing()],
        trust_env=False,
    )
    # Otherwise a request that meets a dead kept-alive connection is sent again, unseen. aiohttp's own test client
    # switches it off in the same way; there is no public switch.
    session._retry_connection = False
    return session


def _tracing() -> aiohttp.TraceConfig:
    async def connected(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
        current.get().connected()

    async def reused(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
        current.get().reuses()

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_create_end.append(connected)
    tracing.on_connection_reuseconn.append(reused)
    return tracing


class _Response(aiohttp.ClientResponse):
    """Tells the exchange of its socket and its head."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """As in the base class. The request has just been written; the socket is at hand only now."""
        exchange = current.get()
        if connection.protocol is not None and connection.transport is not None:
            _transports.get()[connection.protocol] = connection.transport
            exchange.watch(connection.transport.get_extra_info("socket"))
        await super().start(connection)
        exchange.first_byte()
        exchange.head(self.status)
        # At the end of the body aiohttp closes the socket or gives it to the next request.
        self.content.on_eof(exchange.look)
        return self


def _head_bytes(response: aiohttp.ClientResponse) -> int:
    status_line = len(f"HTTP/1.1 {response.status} {response.reason or ''}\r\n")
    return status_line + sum(len(name) + len(value) + 4 for name, value in response.raw_headers) + 2


def _classify(error: Exception, exchange: Exchange) -> Outcome:
    """The outcome of aiohttp's exceptions: the one place where they are known."""
    match error:
        case _ if any(isinstance(cause, ssl.SSLError) for cause in causes(error)):
            return Outcome.TLS
        case ValueError() if not exchange.is_connected:  # InvalidURL among them
            raise UsageError(f"aiohttp does not send this request: {error}") from None
        case aiohttp.ClientConnectorError():
            outcome = os_outcome(error.os_error, otherwise=Outcome.REFUSED)
            # A connection can only be reset while it is being made if it stood and the handshake was on.
            return Outcome.TLS if outcome == Outcome.RESET and error._conn_key.is_ssl else outcome
        case aiohttp.ClientConnectionResetError():
            return Outcome.STALE if exchange.is_reused else Outcome.RESET
        case aiohttp.ServerDisconnectedError():
            return Outcome.STALE if exchange.is_reused else Outcome.CLOSED
        case aiohttp.ClientOSError():
            return Outcome.STALE if exchange.is_reused else Outcome.RESET
        case aiohttp.ClientPayloadError():
            # The cause is the parser's complaint; only the text has the connection's own error.
            return Outcome.RESET if "ConnectionResetError" in str(error) else Outcome.PROTOCOL
        case aiohttp.ClientError() | ValueError():
            return Outcome.PROTOCOL
        case _:
            raise error
