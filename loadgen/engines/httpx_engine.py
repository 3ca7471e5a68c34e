"""The httpx engine: what a program that uses httpx's client would see, with its connection limits lifted.

The client works on a transport of ours, which is httpcore's own pool over httpcore's own network, watched in between.
How near its columns come to the wire:

- `connected`, `first_byte` and `bytes_in` are exact (behind TLS: of the decrypted bytes). With HTTP/2, `first_byte` may
  be that of the connection's settings, and `bytes_in` counts frames.
- `resent` is MISSING where the socket was closed before it could be read: connections not made, or reset.
- An idle connection whose socket is readable is silently replaced by a fresh one; one that dies later is `stale`.
- Bytes beyond the end of a response that came with its last read stay in h11: they are not seen on a connection that
  closes, and make the next request on a kept one `protocol`.
- h11 accepts a head of up to 100 KiB, where the wire engine takes 256.

HTTP/2 is spoken only where asked for, and then without falling back, also on plain HTTP. Each request in flight has a
client, so a connection, of its own: one stream at a time. On a shared connection httpcore's own bound of 100 streams
would make waves of its own.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from functools import lru_cache
from typing import Any

import h11
import httpcore
import httpx

from loadgen.engines import Job
from loadgen.engines.clients import PREPARED, check, os_outcome
from loadgen.engines.course import carry_out
from loadgen.engines.exchange import Exchange, Send, current
from loadgen.errors import UsageError
from loadgen.outcome import Outcome
from loadgen.plan import Plan, Target
from loadgen.request import request_headers
from loadgen.tls import tls_context

_MISUSE = (httpcore.LocalProtocolError, h11.LocalProtocolError, httpx.InvalidURL)
"""What is raised for a request that cannot be sent. HTTP/2 gives the first for a malformed response too."""

_NOT_IN_HTTP2 = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade")
"""RFC 9113, 8.2.2. The h2 package would drop them unsaid."""

_SocketOptions = Iterable[httpcore.SOCKET_OPTION] | None


class HttpxEngine:
    """Carries out runs through one `httpx.AsyncClient`, or with HTTP/2 one for each request in flight."""

    async def run(self, job: Job) -> None:
        """As `loadgen.engines.Engine.run`.

        Raises:
            UsageError: the plan asks for what httpx cannot do.
        """
        check(job.plan)
        _check_http2(job.plan)
        context = tls_context(job.plan.target)
        in_flight = job.schedule.in_flight
        async with AsyncExitStack() as stack:
            if job.plan.http2:
                sends = [_sender(await stack.enter_async_context(_client(job, context)), job) for _ in range(in_flight)]
            else:
                sends = [_sender(await stack.enter_async_context(_client(job, context)), job)] * in_flight
            await carry_out(job, sends, _classify)


def _check_http2(plan: Plan) -> None:
    names = [name for target in plan.targets for name, _ in target.headers]
    unsendable = [name for name in names if name.lower() in _NOT_IN_HTTP2]
    if plan.http2 and unsendable:
        raise UsageError(f"HTTP/2 has no {unsendable[0]} header: leave it out, or leave --http2 out")


def _client(job: Job, context: ssl.SSLContext | None) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=_Transport(job, context), timeout=None, trust_env=False)


def _sender(client: httpx.AsyncClient, job: Job) -> Send:
    @lru_cache(PREPARED)
    def prepare(target: Target) -> httpx.Request:
        # Made without the client, which would add headers of its own and the cookies it was given. The path goes by
        # its side, because httpx would encode it in its own way.
        lines = request_headers(job.plan, target)
        headers = [(name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in lines]
        extensions = {"target": target.path.encode()}
        content = target.body or None
        return httpx.Request(target.method, target.origin, headers=headers, content=content, extensions=extensions)

    async def send(exchange: Exchange) -> None:
        response = await client.send(prepare(exchange.target), stream=True, follow_redirects=False)
        try:
            exchange.head(response.status_code)
            if job.plan.server_timing:
                exchange.server_timing = response.headers.get_list("Server-Timing")
            async for _ in response.aiter_raw():
                pass
        finally:
            await response.aclose()

    return send


class _Transport(httpx.AsyncBaseTransport):
    """httpx's transport over httpcore, as httpx has its own, with the network watched and no errors renamed."""

    def __init__(self, job: Job, context: ssl.SSLContext | None) -> None:
        keep = job.plan.workload.reuses_connections
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=None,
            max_keepalive_connections=None if keep else 0,
            http1=not job.plan.http2,
            http2=job.plan.http2,
            network_backend=_Network(job),
        )
        target = job.plan.target
        self._url = httpcore.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=b"/"
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends the request to the run's server, and to the path in its extensions: httpcore takes it from there."""
        response = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=self._url,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._response.aiter_stream()

    async def aclose(self) -> None:
        await self._response.aclose()


class _Network(httpcore.AsyncNetworkBackend):
    """httpcore's network, connecting to the run's address whatever the host is called."""

    def __init__(self, job: Job) -> None:
        self._inner = httpcore.AnyIOBackend()
        sockaddr = job.address.sockaddr
        scope = f"%{sockaddr[3]}" if len(sockaddr) == 4 and sockaddr[3] else ""
        self._host, self._port = f"{sockaddr[0]}{scope}", sockaddr[1]
        self._alpn = ["h2"] if job.plan.http2 else ["http/1.1"]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _SocketOptions = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connects, and tells the exchange."""
        exchange = current.get()
        try:
            stream = await self._inner.connect_tcp(self._host, self._port, timeout, local_address, socket_options)
        except httpcore.ConnectError as error:
            exchange.fault = os_outcome(error, otherwise=Outcome.REFUSED)
            raise
        exchange.connected()
        return _Stream(stream, exchange, self._alpn)


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that tells the exchange it works for what it reads, and what went wrong."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, exchange: Exchange, alpn: list[str]) -> None:
        self._inner = inner
        self._alpn = alpn
        self._exchange = exchange
        exchange.watch(self.get_extra_info("socket"))

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        exchange = self._exchange
        try:
            data = await self._inner.read(max_bytes, timeout)
        except httpcore.ReadError:
            exchange.fault = Outcome.RESET
            raise
        if data:
            exchange.first_byte()
            exchange.bytes_in += len(data)
        else:
            exchange.saw_eof = True
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        exchange = current.get()
        if exchange is not self._exchange:
            self._exchange = exchange
            exchange.reuses()
            exchange.watch(self.get_extra_info("socket"))
        try:
            await self._inner.write(buffer, timeout)
        except httpcore.WriteError:
            exchange.fault = Outcome.RESET
            raise

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        # httpcore offers HTTP/1.1 before HTTP/2; a server that takes the first would be spoken to in the second.
        ssl_context.set_alpn_protocols(self._alpn)
        try:
            stream = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        except httpcore.ConnectError:
            self._exchange.fault = Outcome.TLS
            raise
        except asyncio.CancelledError:
            await self.aclose()  # httpcore leaves the socket open when a handshake is cancelled
            raise
        return _Stream(stream, self._exchange, self._alpn)

    async def aclose(self) -> None:
        self._exchange.look()  # afterwards the socket is gone
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        try:
            return self._inner.get_extra_info(info)
        except AttributeError:  # anyio's, of a socket that was reset at once and is closed already
            return None


def _classify(error: Exception, exchange: Exchange) -> Outcome:
    """The outcome of httpcore's exceptions: the one place where they are known.

    httpcore has one exception for a malformed response and a closed connection, so what the stream saw comes first.
    """
    if isinstance(error, _MISUSE) and not exchange.bytes_in:
        raise UsageError(f"httpx does not send this request: {error}") from None
    if isinstance(error, ssl.SSLError):
        return Outcome.TLS
    if exchange.fault in (Outcome.REFUSED, Outcome.CONNECT_TIMEOUT, Outcome.CLIENT, Outcome.TLS):
        return exchange.fault
    if exchange.is_reused and not exchange.bytes_in and (exchange.fault or exchange.saw_eof):
        return Outcome.STALE
    if exchange.fault:
        return exchange.fault
    if exchange.saw_eof and not exchange.is_answered:
        return Outcome.CLOSED
    if _is_stream_reset(error):
        return Outcome.RESET
    if isinstance(error, httpcore.ProtocolError | ValueError):
        return Outcome.PROTOCOL
    raise error


def _is_stream_reset(error: Exception) -> bool:
    """Whether an HTTP/2 server reset this request's stream; httpcore hands on the h2 package's event."""
    return any(type(arg).__name__ == "StreamReset" for arg in error.args)
