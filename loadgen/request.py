"""The request as it goes out: the headers that every engine sends, the whole of it as bytes, and which comes next."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from itertools import count
from typing import Final

from loadgen.placeholders import Template, Values, make_uuids
from loadgen.plan import Header, Plan, Target
from loadgen.schedule import Shard
from loadgen.turns import turns

_WHOLE: Final = Shard()


def user_agent() -> str:
    """What the load generator calls itself where the user does not say."""
    return f"loadgen/{version('loadrig')}"


def request_headers(plan: Plan, target: Target) -> list[Header]:
    """The header lines to send: the user's as given, and Host, User-Agent and Connection where the user gave none.

    `Connection: close` where the connection will not be used again, so that the server need not keep it for more.
    HTTP/2 has no such header. Content-Length is not among them.
    """
    given = {name.lower() for name, _ in target.headers}
    defaults = [("Host", target.authority), ("User-Agent", user_agent())]
    if not plan.workload.reuses_connections and not plan.http2:
        defaults.append(("Connection", "close"))
    return [header for header in defaults if header[0].lower() not in given] + list(target.headers)


class Requests:
    """The requests of a run, or of one generator's part of it, in the order in which they begin."""

    def __init__(self, plan: Plan, shard: Shard = _WHOLE) -> None:
        """A shard's order of targets begins as many turns later as there are shards before it, and its numbers `{seq}`
        are its own: each keeps the shares by itself, however fast the others are."""
        self._first = 1 if plan.mix else 0
        self._patterns = [_Pattern(plan, target) for target in plan.targets]
        self._turns = turns([share.weight for share in plan.mix] or [1], shard.index)
        self._seq = count(shard.index, shard.of)
        self._new_uuid = make_uuids()

    @property
    def constant(self) -> bytes | None:
        """The request as HTTP/1.1 has it, where one is like another."""
        return self._patterns[0].constant if len(self._patterns) == 1 else None

    @property
    def longest(self) -> int:
        """Bytes of a request at most."""
        return max(pattern.longest for pattern in self._patterns)

    def take(self) -> tuple[int, int]:
        """The number of the next request's target as the samples have it, and the request's own."""
        return next(self._turns) + self._first, next(self._seq)

    def encoded(self, target: int, seq: int) -> bytes:
        """The whole request, as HTTP/1.1 has it."""
        pattern = self._patterns[target - self._first]
        return pattern.constant if pattern.constant is not None else pattern.encoded(self._values(pattern, seq))

    def target(self, target: int, seq: int) -> Target:
        """The target with its placeholders filled in."""
        pattern = self._patterns[target - self._first]
        return pattern.filled(self._values(pattern, seq)) if pattern.varies else pattern.target

    def _values(self, pattern: _Pattern, seq: int) -> Values:
        return b"%d" % seq, self._new_uuid() if pattern.has_uuid else b""


class _Pattern:
    """The requests to one target."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self._head = Template(_head(plan, target))
        self._body = Template(target.body)
        self._states_length = _needs_length(target)
        self.varies = self._head.varies or self._body.varies
        self.has_uuid = self._head.has_uuid or self._body.has_uuid
        self.target = target
        self.constant: bytes | None = None
        if not self.varies:
            self.target, self.constant = self.filled(_NOTHING), self.encoded(_NOTHING)
        self.longest = self._head.longest + self._body.longest + 2 * len(_LENGTH_LINE)

    def encoded(self, values: Values) -> bytes:
        return _join(self._head.fill(values), self._body.fill(values), states_length=self._states_length)

    def filled(self, values: Values) -> Target:
        def fill(text: str) -> str:
            return Template(text.encode("utf-8", "surrogateescape")).fill(values).decode("utf-8", "surrogateescape")

        target = self.target
        headers = tuple((name, fill(value)) for name, value in target.headers)
        return replace(target, path=fill(target.path), headers=headers, body=self._body.fill(values))


_NOTHING: Final[Values] = (b"", b"")
_LENGTH_LINE: Final = b"Content-Length: %d\r\n"


def _head(plan: Plan, target: Target) -> bytes:
    """Request line and headers, without the body's length and the empty line."""
    headers = request_headers(plan, target)
    lines = [f"{target.method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def _join(head: bytes, body: bytes, *, states_length: bool) -> bytes:
    length = _LENGTH_LINE % len(body) if states_length else b""
    return b"".join((head, length, b"\r\n", body))


def _needs_length(target: Target) -> bool:
    """Whether the body's end is to be stated; RFC 9110, 8.6: also for no body, where the method expects one."""
    given = {name.lower() for name, _ in target.headers}
    expected = bool(target.body) or target.method in ("POST", "PUT", "PATCH")
    return expected and not given & {"content-length", "transfer-encoding"}
