"""The default engine: HTTP/1.1 on sockets of its own, at the kernel's floor.

    run         one run: what lets requests begin, and when it is over; owner is what its connections know of it
    agenda      what a run does at moments of its own; readiness its dispatching; deadlines bounds each request's time
    pool        the connections of a run
    connection  one socket and the request on it, from connect to outcome; tls_connection the same with TLS
    response    when is a response complete, and is it well-formed (httptools)
    poller      readiness of many sockets as one descriptor that any asyncio loop can watch

Why not asyncio's transports: a burst must be connected and sent in one go before anything is read, each socket must
answer for its own connect time and retransmissions, and a task a request costs more than the request.
"""

from loadgen.engines.wire.run import WireEngine

__all__ = ["WireEngine"]
