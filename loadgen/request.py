"""The request as bytes on the wire, and the headers that every engine sends."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from loadgen.plan import Header, Target


def user_agent() -> str:
    """The User-Agent sent where the user gives none."""
    try:
        return f"loadgen/{version('loadrig')}"
    except PackageNotFoundError:
        return "loadgen"


def request_headers(target: Target, *, close: bool) -> list[Header]:
    """All headers of a request, in order: the user's as given, and those that HTTP/1.1 needs where they are missing.

    `close`: the connection will not be used again, so say so; the server then closes first and keeps TIME_WAIT to
    itself, where it holds no port of ours.
    """
    given = {name.lower() for name, _ in target.headers}
    headers: list[Header] = []
    if "host" not in given:
        headers.append(("Host", target.authority))
    if "user-agent" not in given:
        headers.append(("User-Agent", user_agent()))
    if "accept" not in given:
        headers.append(("Accept", "*/*"))
    headers += target.headers
    if close and "connection" not in given:
        headers.append(("Connection", "close"))
    has_body = bool(target.body) or target.method in ("POST", "PUT", "PATCH")
    if has_body and not given & {"content-length", "transfer-encoding"}:
        headers.append(("Content-Length", str(len(target.body))))
    return headers


def encode_request(target: Target, *, close: bool) -> bytes:
    """The whole request, body included, as HTTP/1.1 has it."""
    lines = [f"{target.method} {target.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request_headers(target, close=close)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + target.body
