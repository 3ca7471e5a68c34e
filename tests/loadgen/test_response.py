from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadgen.engines.wire.response import MAX_HEAD_BYTES, MalformedError, ResponseReader


@dataclass(frozen=True)
class Result:
    """What a reader says of a response."""

    complete: bool
    status: int
    keep_alive: bool
    malformed: bool = False


def read(*parts: bytes, head_only: bool = False, eof: bool = False, reader: ResponseReader | None = None) -> Result:
    reader = reader or ResponseReader(head_only=head_only)
    try:
        for part in parts:
            reader.feed(part)
        if eof:
            reader.feed_eof()
    except MalformedError:
        return Result(False, reader.status, False, malformed=True)
    return Result(reader.complete, reader.status, reader.keep_alive)


def response(head: str, body: bytes = b"") -> bytes:
    return head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


OK = response("HTTP/1.1 200 OK\nContent-Length: 2", b"ok")
CHUNKED = response(
    "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X-Sum",
    b"3;why=this\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n",
)
EARLY_HINTS = response("HTTP/1.1 103 Early Hints\nLink: </a>") + response("HTTP/1.1 100 Continue") + OK
NO_CONTENT = response("HTTP/1.1 204 No Content")
NOT_MODIFIED = response('HTTP/1.1 304 Not Modified\nContent-Length: 1000\nETag: "x"')
EMPTY = response("HTTP/1.1 200 OK\nContent-Length: 0")
SIZED = [OK, CHUNKED, EARLY_HINTS, NO_CONTENT, NOT_MODIFIED, EMPTY]
TO_THE_END = response("HTTP/1.1 200 OK", b"as long as it comes")
TO_THE_END_1_0 = response("HTTP/1.0 200 OK\nServer: old", b"as long as it comes")


@pytest.mark.parametrize("data", SIZED)
def test_a_response_whose_end_is_stated_is_complete_there_and_not_before(data: bytes) -> None:
    assert read(data).complete
    assert read(data).keep_alive
    assert not read(data[:-1]).complete
    assert not read(data[:-1]).malformed


@given(st.sampled_from([*SIZED, TO_THE_END, TO_THE_END_1_0]), st.lists(st.integers(0, 400)))
def test_a_response_in_any_pieces_is_the_same_as_whole(data: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(edges)]
    eof = data in (TO_THE_END, TO_THE_END_1_0)
    assert read(*pieces, eof=eof) == read(data, eof=eof)
    assert read(*pieces, eof=eof).complete


@given(st.lists(st.binary(max_size=60), max_size=5), st.booleans(), st.booleans())
@example([OK + b"\0"], False, False)
def test_no_bytes_are_met_with_anything_but_a_result_or_a_malformed_response(
    parts: list[bytes], head_only: bool, eof: bool
) -> None:
    result = read(*parts, head_only=head_only, eof=eof)
    assert not (result.complete and result.malformed)


pieces_of_http = st.sampled_from(
    [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 404 No\r\n", b"HTTP/1.1 100 C\r\n\r\n", b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n",
     b"Content-Length: 3\r\n", b"Content-Length: 99999999999999999999999\r\n", b"Content-Length: -1\r\n",
     b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"Connection: close\r\n",
     b"Connection: upgrade\r\n",
     b"\r\n", b"\n", b"abc", b"3\r\nabc\r\n", b"0\r\n\r\n", b"ffffffffffffffffffff\r\n", b"\0", b":", b" folded\r\n"]
)  # fmt: skip


@given(st.lists(pieces_of_http, max_size=10), st.booleans(), st.booleans())
def test_no_mixture_of_pieces_of_http_is_met_with_anything_else_either(
    parts: list[bytes], head_only: bool, eof: bool
) -> None:
    whole = read(b"".join(parts), head_only=head_only, eof=eof)
    apart = read(*parts, head_only=head_only, eof=eof)
    assert whole.complete == apart.complete


@pytest.mark.parametrize("data", [OK, CHUNKED, EARLY_HINTS, EMPTY, NO_CONTENT, NOT_MODIFIED])
@pytest.mark.parametrize("beyond", [b"x", b"\0", OK])
def test_bytes_beyond_the_response_are_malformed(data: bytes, beyond: bytes) -> None:
    assert read(data + beyond).malformed
    assert read(data, beyond).malformed


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00",
        b"<html>",
        response("HTTP/1.1 OK"),
        response("HTTP/1.1 20 OK"),
        response("HTTP/1.1 200 OK\nContent-Length: two"),
        response("HTTP/1.1 200 OK\nContent-Length: -2"),
        response("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2", b"ok"),
        response("HTTP/1.1 200 OK\nNo colon here"),
        response("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"zz\r\nab\r\n"),
        response("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"2\r\nabc\r\n"),
        response("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"-2\r\nab\r\n"),
        response("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"10000000000000000\r\nab\r\n"),
    ],
)
def test_what_is_not_a_response_is_malformed(data: bytes) -> None:
    assert read(data).malformed


@pytest.mark.parametrize("data", [OK[:-1], CHUNKED[:-1], CHUNKED[:90], response("HTTP/1.1 200 OK\nContent-Length: 1")])
def test_a_body_that_ends_before_its_announced_end_is_malformed(data: bytes) -> None:
    assert read(data, eof=True).malformed


@pytest.mark.parametrize("data", [b"", b"HT", b"HTTP/1.1 200 OK\r\nServer: x\r\n", response("HTTP/1.1 100 Continue")])
def test_an_end_before_a_complete_head_leaves_no_response(data: bytes) -> None:
    result = read(data, eof=True)
    assert not result.complete
    assert not result.malformed


def test_a_body_without_a_stated_end_ends_with_the_connection_and_takes_it_along() -> None:
    assert read(TO_THE_END) == Result(complete=False, status=200, keep_alive=False)
    assert read(TO_THE_END, eof=True) == Result(complete=True, status=200, keep_alive=False)
    assert read(response("HTTP/1.1 200 OK\nTransfer-Encoding: gzip"), eof=True).complete


@pytest.mark.parametrize(
    ("head", "keep_alive"),
    [
        ("HTTP/1.1 200 OK\nContent-Length: 0", True),
        ("HTTP/1.1 200 OK\nContent-Length: 0\nConnection: close", False),
        ("HTTP/1.1 200 OK\nContent-Length: 0\nCONNECTION: Close", False),
        ("HTTP/1.1 200 OK\nContent-Length: 0\nConnection: keep-alive, close", False),
        ("HTTP/1.1 200 OK\nContent-Length: 0\nConnection: keep-alive", True),
        ("HTTP/1.0 200 OK\nContent-Length: 0", False),
        ("HTTP/1.0 200 OK\nContent-Length: 0\nConnection: keep-alive", True),
        ("HTTP/1.0 200 OK\nContent-Length: 0\nConnection: close", False),
        ("HTTP/1.1 204 No Content\nConnection: close", False),
        ("HTTP/1.1 404 Not Found\nContent-Length: 0", True),
    ],
)
def test_the_connection_stays_as_version_and_header_say(head: str, keep_alive: bool) -> None:
    result = read(response(head))
    assert result.complete
    assert result.keep_alive == keep_alive


@pytest.mark.parametrize(
    ("head", "keep_alive"),
    [
        ("HTTP/1.1 200 OK\nContent-Length: 1000", True),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", True),
        ("HTTP/1.1 200 OK", True),
        ("HTTP/1.1 200 OK\nContent-Length: 0", True),
        ("HTTP/1.1 304 Not Modified", True),
        ("HTTP/1.1 200 OK\nConnection: close", False),
        ("HTTP/1.0 200 OK\nContent-Length: 3", False),
        ("HTTP/1.0 200 OK\nConnection: keep-alive", True),
    ],
)
def test_an_answer_to_head_ends_with_its_head_whatever_it_announces(head: str, keep_alive: bool) -> None:
    data = response(head)
    assert not read(data[:-1], head_only=True).complete
    result = read(data, head_only=True)
    assert (result.complete, result.keep_alive) == (True, keep_alive)


@pytest.mark.parametrize("head", ["HTTP/1.1 200 OK\nContent-Length: 2", "HTTP/1.1 200 OK"])
def test_a_body_in_an_answer_to_head_is_malformed(head: str) -> None:
    assert read(response(head, b"ok"), head_only=True).malformed
    assert read(response(head), b"ok", head_only=True).malformed


def test_a_protocol_switch_is_complete_and_takes_the_connection_along() -> None:
    result = read(response("HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: websocket"))
    assert (result.complete, result.status, result.keep_alive) == (True, 101, False)


def test_a_head_that_does_not_end_is_given_up() -> None:
    line = b"X: " + b"a" * 1021 + b"\r\n"
    fed = 0
    reader = ResponseReader(head_only=False)
    reader.feed(b"HTTP/1.1 200 OK\r\n")
    with contextlib.suppress(MalformedError):
        while fed <= 2 * MAX_HEAD_BYTES:
            reader.feed(line)
            fed += len(line)
    assert MAX_HEAD_BYTES - 2048 <= fed <= MAX_HEAD_BYTES


@pytest.mark.parametrize("filler", [b"a" * 65536, b"HTTP/1.1 100 C\r\nX: " + b"a" * 65536])
def test_one_line_that_does_not_end_is_given_up(filler: bytes) -> None:
    assert read(b"HTTP/1.1 200 OK\r\nX: ", *[filler] * 5).malformed


def test_a_large_head_within_the_limit_and_a_larger_body_are_read() -> None:
    head = "HTTP/1.1 200 OK\nX: " + "a" * (MAX_HEAD_BYTES - 1000) + "\nContent-Length: 1000000"
    data = response(head, bytes(1_000_000))
    assert read(*[data[at : at + 65536] for at in range(0, len(data), 65536)]).complete


@pytest.mark.parametrize("head_only", [False, True])
@given(st.lists(st.sampled_from([*SIZED[:1], *SIZED[2:], NOT_MODIFIED]), min_size=2, max_size=4))
def test_a_reader_reads_one_response_after_another(head_only: bool, responses: list[bytes]) -> None:
    reader = ResponseReader(head_only=head_only)
    for data in responses:
        if head_only and data.endswith(b"ok"):
            data = data[:-2]
        reader.begin(head_only=head_only)
        assert read(data, reader=reader) == read(data, head_only=head_only)
        assert reader.complete


def test_nothing_of_a_response_is_left_for_the_next() -> None:
    reader = ResponseReader(head_only=False)
    reader.feed(OK)
    reader.begin(head_only=False)
    assert (reader.complete, reader.status, reader.keep_alive) == (False, 0, False)
    assert not read(b"", eof=True, reader=reader).complete


def test_trailers_have_a_largest_size() -> None:
    reader = ResponseReader(head_only=False)
    reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")

    def send_trailers() -> None:
        for _ in range(10_000):
            reader.feed(b"X-More: " + b"y" * 90 + b"\r\n")

    with pytest.raises(MalformedError, match="trailers"):
        send_trailers()


def test_a_body_may_be_larger_than_a_head() -> None:
    reader = ResponseReader(head_only=False)
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n")
    for _ in range(100):
        reader.feed(b"x" * 100_000)
    assert reader.complete
