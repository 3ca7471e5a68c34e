"""An HTTP/2 server of the smallest kind, on the h2 package: the path says how it answers."""

from __future__ import annotations

import asyncio
import ssl

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.exceptions import ProtocolError

from tests.engines.serving import Serving

_RESET = 0x2  # INTERNAL_ERROR


class H2Server(Serving):
    """Answers /status/CODE, /never, /reset-stream, /close; anything else with 200. Keeps each request's headers."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls=tls)
        self.received: list[dict[str, str]] = []
        self.bodies: list[bytes] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        h2.initiate_connection()
        writer.write(h2.data_to_send())
        paths: dict[int, str] = {}
        body = b""
        while data := await reader.read(65536):
            try:
                events = h2.receive_data(data)
            except ProtocolError:
                return
            for event in events:
                match event:
                    case RequestReceived(stream_id=int(stream)):
                        self.received.append({str(name): str(value) for name, value in event.headers or ()})
                        self.count_request()
                        paths[stream] = self.received[-1][":path"]
                    case DataReceived(stream_id=int(stream), data=bytes(part)):
                        body += part
                        h2.acknowledge_received_data(event.flow_controlled_length or 0, stream)
                    case StreamEnded(stream_id=int(stream)):
                        self.bodies.append(body)
                        body = b""
                        if not _answer(h2, stream, paths[stream]):
                            writer.write_eof()
                            while await reader.read(65536):  # to close on unread data would reset
                                pass
                            return
            writer.write(h2.data_to_send())
            await writer.drain()


def _answer(h2: H2Connection, stream: int, path: str) -> bool:
    """Answers one request; false where the connection is to end."""
    match path.split("/")[1:]:
        case ["never"]:
            pass
        case ["close"]:
            return False
        case ["reset-stream"]:
            h2.reset_stream(stream, _RESET)
        case ["status", code]:
            h2.send_headers(stream, [(":status", code)], end_stream=True)
        case _:
            h2.send_headers(stream, [(":status", "200"), ("content-length", "2")])
            h2.send_data(stream, b"ok", end_stream=True)
    return True
