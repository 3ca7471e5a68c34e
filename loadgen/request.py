"""The request as it goes out: the headers that every engine sends, and the whole of it as bytes."""

from __future__ import annotations

from importlib.metadata import version

from loadgen.plan import Header, Plan, Target


def user_agent() -> str:
    """What the load generator calls itself where the user does not say."""
    return f"loadgen/{version('loadrig')}"


def request_headers(plan: Plan) -> list[Header]:
    """The header lines to send: the user's as given, and Host, User-Agent and Connection where the user gave none.

    `Connection: close` where the connection will not be used again, so that the server need not keep it for more.
    HTTP/2 has no such header. Content-Length is not among them.
    """
    given = {name.lower() for name, _ in plan.target.headers}
    defaults = [("Host", plan.target.authority), ("User-Agent", user_agent())]
    if not plan.workload.reuses_connections and not plan.http2:
        defaults.append(("Connection", "close"))
    return [header for header in defaults if header[0].lower() not in given] + list(plan.target.headers)


def encode_request(plan: Plan) -> bytes:
    """The whole request, body included, as HTTP/1.1 has it."""
    target = plan.target
    headers = request_headers(plan)
    if _needs_length(target):
        headers.append(("Content-Length", str(len(target.body))))
    lines = [f"{target.method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + target.body


def _needs_length(target: Target) -> bool:
    """Whether the body's end is to be stated; RFC 9110, 8.6: also for no body, where the method expects one."""
    given = {name.lower() for name, _ in target.headers}
    expected = bool(target.body) or target.method in ("POST", "PUT", "PATCH")
    return expected and not given & {"content-length", "transfer-encoding"}
