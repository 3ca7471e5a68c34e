"""The misbehaving server: the path of the request says how it answers (`BEHAVIOURS`)."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from tests.engines.serving import Serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MOST_OFFERED = 64 * 1024 * 1024
"""Bytes of a response without end that are offered before giving up."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived."""

    head: bytes
    body: bytes
    nth: int
    """On its connection, from 1."""

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    @property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    def headers(self, name: str) -> list[str]:
        """The values of all lines of that name, in order."""
        lines = (line.split(": ", 1) for line in self.head.decode("latin-1").split("\r\n")[1:] if line)
        return [value for key, value in lines if key.lower() == name.lower()]


class Call:
    """A request with the means to answer it."""

    def __init__(self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._reader = reader
        self.query = {key: values[-1] for key, values in parse_qs(urlsplit(request.path).query).items()}
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Writes and lets it go out."""
        self._writer.write(data)
        await self._writer.drain()

    async def send_slowly(self, data: bytes) -> None:
        """One byte every 50 ms."""
        for at in range(len(data)):
            await self.send(data[at : at + 1])
            await asyncio.sleep(0.05)

    async def send_endlessly(self, data: bytes) -> None:
        """Again and again, within `MOST_OFFERED`."""
        data *= max(1, 65536 // len(data))
        for _ in range(MOST_OFFERED // len(data)):
            await self.send(data)
        await self.client_gone()

    async def client_gone(self) -> None:
        """Waits until the client closes."""
        while await self._reader.read(65536):
            pass

    def reset(self) -> None:
        """Ends the connection with a RST."""
        linger = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.transport.abort()


Behaviour = Callable[[Call], Awaitable[bool | None]]
"""Answers; true where the connection stays open."""


def _answer(data: bytes, *, keep: bool = False) -> Behaviour:
    async def answer(call: Call) -> bool:
        await call.send(data)
        return keep

    return answer


def _endless(head: bytes, part: bytes) -> Behaviour:
    async def answer(call: Call) -> None:
        await call.send(head)
        await call.send_endlessly(part)

    return answer


async def _status(call: Call) -> bool:
    status = urlsplit(call.request.path).path.rpartition("/")[2]
    await call.send(f"HTTP/1.1 {status} So\r\nContent-Length: 2\r\n\r\nno".encode())
    return True


async def _slow(call: Call) -> bool:
    await asyncio.sleep(float(call.query["ms"]) / 1000)
    await call.send(OK)
    return True


async def _server_timing(call: Call) -> bool:
    """`fields`, parted by bars, as so many header lines; with `status`, and with `only`, on odd or even requests."""
    odd = call.query.get("only", "odd") == "odd"
    answers = "only" not in call.query or (call.request.nth % 2 == 1) == odd
    fields = call.query["fields"].split("|") if answers else []
    lines = "".join(f"Server-Timing: {field}\r\n" for field in fields).replace("NTH", str(call.request.nth))
    head = f"HTTP/1.1 {call.query.get('status', '200')} So\r\n{lines}"
    body = "" if call.request.method == "HEAD" else "ok"
    await call.send(f"{head}Content-Length: 2\r\n\r\n{body}".encode())
    return True


async def _never(call: Call) -> None:
    await call.client_gone()


async def _reset(call: Call) -> None:
    call.reset()


async def _reset_in_body(call: Call) -> None:
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
    await asyncio.sleep(0.05)  # a RST overtakes what has not been read
    call.reset()


async def _trickle(call: Call) -> None:
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    await call.send_slowly(b"x" * 1000)


async def _trickle_head(call: Call) -> None:
    await call.send_slowly(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000)


async def _pieces(call: Call) -> bool:
    for at in range(len(OK)):
        await call.send(OK[at : at + 1])
        await asyncio.sleep(0)
    return True


async def _stale(call: Call) -> bool:
    if call.request.nth > 1:
        return False
    await call.send(OK)
    return True


async def _stale_reset(call: Call) -> bool:
    if call.request.nth > 1:
        call.reset()
        return False
    await call.send(OK)
    return True


async def _kill_after(call: Call) -> bool:
    """`k` answers on a connection, and the next request is left without one."""
    if call.request.nth > int(call.query["k"]):
        return False
    await call.send(OK)
    return True


async def _length_by_method(call: Call) -> bool:
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + b"hello" * (call.request.method != "HEAD"))
    return True


BEHAVIOURS: dict[str, Behaviour] = {
    "ok": _answer(OK, keep=True),
    "status": _status,
    "slow": _slow,
    "server-timing": _server_timing,
    "server-timing-early": _answer(b"HTTP/1.1 103 Early Hints\r\nServer-Timing: early;dur=1\r\n\r\n" + OK, keep=True),
    "server-timing-trailer": _answer(CHUNKED + b"2\r\nok\r\n0\r\nServer-Timing: late;dur=1\r\n\r\n", keep=True),
    "server-timing-short": _answer(b"HTTP/1.1 200 OK\r\nServer-Timing: work;dur=1\r\nContent-Length: 9\r\n\r\nshort"),
    "pieces": _pieces,
    "chunked": _answer(CHUNKED + b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n", keep=True),
    "chunked-trailers": _answer(CHUNKED + b"3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n", keep=True),
    "close-delimited": _answer(b"HTTP/1.1 200 OK\r\n\r\nuntil the end"),
    "http10": _answer(b"HTTP/1.0 200 OK\r\n\r\nuntil the end"),
    "connection-close": _answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"),
    "100-continue-then-200": _answer(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, keep=True),
    "103-then-200": _answer(b"HTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\n" + OK, keep=True),
    "204": _answer(b"HTTP/1.1 204 No Content\r\n\r\n", keep=True),
    "304": _answer(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", keep=True),
    "head": _length_by_method,
    "redirect": _answer(b"HTTP/1.1 302 Found\r\nLocation: /status/404\r\nContent-Length: 0\r\n\r\n", keep=True),
    "not-gzip": _answer(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nraw", keep=True),
    "set-cookie": _answer(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n", keep=True),
    "never": _never,
    "trickle": _trickle,
    "trickle-head": _trickle_head,
    "endless-body": _endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    "endless-chunks": _endless(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    "reset": _reset,
    "reset-in-body": _reset_in_body,
    "close": _answer(b""),
    "close-in-head": _answer(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "garbage": _answer(b"\x00\x01\x02 this is not HTTP\r\n\r\n"),
    "bad-status-line": _answer(b"HTTP/1.1 abc OK\r\n\r\n"),
    "bad-header": _answer(b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"),
    "no-end-of-head": _endless(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n"),
    "endless-header-line": _endless(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
    "huge-header": _answer(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1024 * 1024 + b"\r\nContent-Length: 0\r\n\r\n"),
    "bad-chunk-size": _answer(CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n"),
    "short-chunks": _answer(CHUNKED + b"5\r\nab"),
    "no-last-chunk": _answer(CHUNKED + b"2\r\nab\r\n"),
    "short-body": _answer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
    "extra-bytes": _answer(OK + b"and more"),
    "two-lengths": _answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
    "bad-length": _answer(b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"),
    "stale": _stale,
    "stale-reset": _stale_reset,
    "close-when-idle": _answer(OK),
    "kill-after": _kill_after,
    "echo": _answer(OK, keep=True),
}


class MisbehavingServer(Serving):
    """Answers by `BEHAVIOURS`, and keeps each request as it arrived."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        super().__init__(tls=tls, host=host)
        self.received: list[Received] = []
        self.base = f"{'http' if tls is None else 'https'}://{f'[{host}]' if ':' in host else host}"

    def url(self, path: str) -> str:
        """The URL of a path here."""
        return f"{self.base}:{self.port}{path}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nth = 0
        keep: bool | None = True
        while keep:
            nth += 1
            try:
                request = await _read(reader, nth)
            except _HandshakeError:
                writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nplain HTTP is spoken here")
                return
            self.received.append(request)
            self.count_request()
            name = urlsplit(request.path).path.split("/")[1]
            keep = await BEHAVIOURS[name](Call(request, reader, writer))
            keep = keep and "close" not in request.headers("Connection")


class _HandshakeError(Exception):
    """A client begins TLS on the port of plain HTTP."""


async def _read(reader: asyncio.StreamReader, nth: int) -> Received:
    first = await reader.readexactly(1)
    if first == b"\x16":  # a TLS record with a handshake
        raise _HandshakeError
    head = first + await reader.readuntil(b"\r\n\r\n")
    length = Received(head, b"", nth).headers("Content-Length")
    body = await reader.readexactly(int(length[0])) if length else b""
    return Received(head, body, nth)
