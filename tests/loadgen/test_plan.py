from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadgen.errors import UsageError
from loadgen.load_options import LoadOptions
from loadgen.options import EngineName, RequestOptions
from loadgen.plan import Plan, Target, Workload, parse_header
from loadgen.request import Requests
from loadgen.schedule import make_schedule

TARGET = Target.parse("http://127.0.0.1:8080/sleep")


def encoded(target: Target, *, close: bool) -> bytes:
    """The request in a burst, where no connection is used again, or in a closed load, where each is."""
    constant = Requests(Plan(target, Workload(requests=2, concurrency=2 if close else 1))).constant
    assert constant is not None
    return constant


T = TypeVar("T")


def accepted(call: Callable[[], T]) -> T | None:
    """What it returns; None where it is refused, which must be with one line."""
    try:
        return call()
    except UsageError as error:
        message = str(error)
    assert len(message.splitlines()) == 1
    return None


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as refused:
        call()
    return str(refused.value)


# Headers


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("X-Case: 1", ("X-Case", "1")),
        ("x:1", ("x", "1")),
        ("X-Empty:", ("X-Empty", "")),
        ("X:  a b \t", ("X", "a b")),
        ("X: a: b", ("X", "a: b")),
        ("X: a\tb", ("X", "a\tb")),
        ("X: größer", ("X", "größer")),
    ],
)
def test_a_header_is_a_name_and_a_value(line: str, header: tuple[str, str]) -> None:
    assert parse_header(line) == header


@pytest.mark.parametrize("line", ["", "X", "X 1", ": 1", " : 1", "X Y: 1", "Ü: 1", "X(: 1", "X\0: 1"])
def test_a_header_without_a_colon_or_with_a_name_that_is_none_is_refused(line: str) -> None:
    assert "write it as 'Name: value'" in refusal(lambda: parse_header(line))


@pytest.mark.parametrize("character", ["\r", "\n", "\0", "\x01", "\x0b", "\x1b", "\x7f"])
def test_a_value_with_a_control_character_is_refused(character: str) -> None:
    message = refusal(lambda: parse_header(f"X: a{character}b"))
    assert "control character" in message
    assert message.isprintable()


# What an argument can be: text, and for bytes that are not UTF-8 the surrogates that stand for them.
any_text = st.text(
    st.characters(exclude_categories=["Cs"]) | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF), max_size=40
)
header_like = st.builds("{}:{}".format, st.from_regex(r"[!-9;-~]{1,5}", fullmatch=True) | any_text, any_text)


@given(any_text | header_like)
def test_no_header_that_is_accepted_breaks_the_line(line: str) -> None:
    header = accepted(lambda: parse_header(line))
    if header is None:
        return
    name, value = header
    assert not {*name, *value} & {"\r", "\n", "\0"}
    assert ":" not in name
    lines = encoded(Target.parse("http://h/", headers=((name, value),)), close=False).split(b"\r\n")
    assert lines.count(f"{name}: {value}".encode("utf-8", "surrogateescape")) == 1
    assert len(lines) <= 7


# Targets


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("http://127.0.0.1:8080/sleep", "127.0.0.1", 8080, "/sleep", "127.0.0.1:8080"),
        ("http://h", "h", 80, "/", "h"),
        ("http://h:80/", "h", 80, "/", "h"),
        ("http://h:/", "h", 80, "/", "h"),
        ("https://h", "h", 443, "/", "h"),
        ("https://h:80/", "h", 80, "/", "h:80"),
        ("HTTP://H/Path", "h", 80, "/Path", "h"),
        ("http://h:1/", "h", 1, "/", "h:1"),
        ("http://h:65535/", "h", 65535, "/", "h:65535"),
        ("http://[::1]:80/", "::1", 80, "/", "[::1]"),
        ("http://[::1]:8080/x", "::1", 8080, "/x", "[::1]:8080"),
        ("http://h?a=1", "h", 80, "/?a=1", "h"),
        ("http://h/?", "h", 80, "/", "h"),
        ("http://h/p?a=1&b=2#part", "h", 80, "/p?a=1&b=2", "h"),
        ("http://h/#part", "h", 80, "/", "h"),
        ("http://h/a b?c d", "h", 80, "/a%20b?c%20d", "h"),
        ("http://h/a%20b", "h", 80, "/a%20b", "h"),
        ("http://h/größe?q=ü", "h", 80, "/gr%C3%B6%C3%9Fe?q=%C3%BC", "h"),
        ("http://h//a/../b", "h", 80, "//a/../b", "h"),
        ('http://h/"<>\\^`{|}', "h", 80, "/%22%3C%3E%5C%5E%60%7B%7C%7D", "h"),
        ("http://h/\udcff?\udcff", "h", 80, "/%FF?%FF", "h"),
        ("http://bücher.example/", "xn--bcher-kva.example", 80, "/", "xn--bcher-kva.example"),
    ],
)
def test_a_url_says_whom_to_send_to_and_what(url: str, host: str, port: int, path: str, authority: str) -> None:
    target = Target.parse(url)
    assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)
    assert Target.parse(target.url) == target


@pytest.mark.parametrize(
    "url", ["", "x", "127.0.0.1:8080", "/sleep", "ftp://h/", "httpx://h/", "http:", "localhost:80"]
)
def test_a_url_with_another_scheme_is_refused(url: str) -> None:
    message = refusal(lambda: Target.parse(url))
    assert "it must begin with http:// or https://" in message or "it has no host" in message


@pytest.mark.parametrize("url", ["http://", "http:///x", "https://:8080/", "http://?q", "http:/h/", "http://#x"])
def test_a_url_without_a_host_is_refused(url: str) -> None:
    assert "it has no host, as in http://127.0.0.1:8080/sleep" in refusal(lambda: Target.parse(url))


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "80x", "\uff18\uff10", "99999999999999999999"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    message = refusal(lambda: Target.parse(f"http://h:{port}/"))
    assert "is not accepted" in message
    assert "ort" in message


@pytest.mark.parametrize("url", ["http://me@h/", "http://me:pw@h/", "http://@h/"])
def test_a_user_in_the_url_is_refused_without_repeating_the_password(url: str) -> None:
    message = refusal(lambda: Target.parse(url))
    assert "send it as -H 'Authorization: Basic ...'" in message
    assert "pw" not in message


@pytest.mark.parametrize(
    "host",
    ["a b", "a_\\b", "a<b", "[::1", "[h]", "..", "a..b", ".a", f"{'a' * 64}.example", "ü" * 64, "a\x7fb"],
)
def test_a_host_that_is_none_is_refused(host: str) -> None:
    assert "is not accepted" in refusal(lambda: Target.parse(f"http://{host}/"))


@pytest.mark.parametrize("method", [" ", "GET /", "G\r\n", "G:", "é"])
def test_a_method_that_is_not_one_word_is_refused(method: str) -> None:
    assert "it must be one word, such as GET" in refusal(lambda: Target.parse("http://h/", method=method))


urls = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTP://", "http:", ""]),
    st.sampled_from(["h", "127.0.0.1", "[::1]", "[fe80::1%eth0]", "bücher.example"]) | any_text,
    st.sampled_from(["", ":8080", ":", "/"]) | any_text,
    any_text,
)


@given(any_text | urls, st.sampled_from(["GET", "HEAD", "PURGE"]))
@example("http://h/\x00\x7f\x85\u2028", "GET")
@example("http://h/ HTTP/1.1\r\nX: y", "GET")
def test_any_url_gives_one_request_line_or_a_refusal_of_one_line(url: str, method: str) -> None:
    target = accepted(lambda: Target.parse(url, method=method))
    if target is None:
        return
    request = encoded(target, close=False)
    line, *headers = request.decode("ascii").split("\r\n")
    assert line.count(" ") == 2
    assert line.isprintable()
    sent_method, path, version = line.split(" ")
    assert (sent_method, version) == (method, "HTTP/1.1")
    assert path.startswith("/")
    assert headers[0] == f"Host: {target.authority}"
    assert headers[-2:] == ["", ""]
    assert urlsplit(target.url).path, "the URL can be read back"


# The request


def test_headers_go_out_in_order_as_given_after_those_that_http_needs() -> None:
    given = (("X-b", "1"), ("x-A", "2"), ("X-b", "3"))
    request = encoded(Target.parse("http://h:81/p", headers=given), close=False)
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "GET /p HTTP/1.1"
    assert lines[1] == "Host: h:81"
    assert [line.partition(":")[0] for line in lines[1:3]] == ["Host", "User-Agent"]
    assert lines[3:] == ["X-b: 1", "x-A: 2", "X-b: 3"]
    assert body == b""


@pytest.mark.parametrize("name", ["Host", "USER-AGENT", "Connection"])
def test_a_header_that_is_given_takes_the_place_of_ours(name: str) -> None:
    request = encoded(Target.parse("http://h/", headers=((name, "mine"),)), close=True).decode()
    lines = [line for line in request.split("\r\n") if line.lower().startswith(name.lower() + ":")]
    assert lines == [f"{name}: mine"]


@pytest.mark.parametrize("close", [True, False])
def test_the_connection_is_given_up_only_where_it_is_not_used_again(close: bool) -> None:
    assert (b"\r\nConnection: close\r\n" in encoded(TARGET, close=close)) == close


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [("GET", b"", None), ("HEAD", b"", None), ("DELETE", b"", None), ("POST", b"", b"0"), ("PUT", b"", b"0"),
     ("PATCH", b"", b"0"), ("GET", b"abc", b"3"), ("POST", bytes(range(256)), b"256")],
)  # fmt: skip
def test_a_body_is_sent_as_given_with_its_length(method: str, body: bytes, length: bytes | None) -> None:
    head, _, sent = encoded(Target.parse("http://h/", method=method, body=body), close=True).partition(b"\r\n\r\n")
    assert sent == body
    lines = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    assert lines == ([] if length is None else [b"Content-Length: " + length])


@pytest.mark.parametrize("header", [("content-length", "99"), ("Transfer-Encoding", "chunked")])
def test_a_length_that_is_given_is_not_corrected(header: tuple[str, str]) -> None:
    request = encoded(Target.parse("http://h/", method="POST", headers=(header,), body=b"abc"), close=False)
    assert b"Content-Length: 3" not in request
    assert request.endswith(f"{header[0]}: {header[1]}\r\n\r\nabc".encode())


def test_an_argument_that_is_not_utf8_is_sent_as_the_bytes_it_was() -> None:
    request = encoded(Target.parse("http://h/", headers=(("X", "a\udcffü"),)), close=False)
    assert b"X: a\xff\xc3\xbc\r\n" in request


# Workloads, plans, schedules


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ({"n": 0}, "--n takes 1 or more"),
        ({"n": -5}, "--n takes 1 or more"),
        ({"runs": 0}, "--runs takes 1 or more"),
        ({"runs": -1}, "--runs takes 1 or more"),
        ({"warmup": -1}, "--warmup takes 0 or more"),
        ({"concurrency": 0}, "-c takes 1 to the number of requests, 400"),
        ({"concurrency": -1}, "-c takes 1 to the number of requests, 400"),
        ({"concurrency": 401}, "-c takes 1 to the number of requests, 400"),
        ({"timeout": "0"}, "a timeout must be above 0"),
        ({"timeout": "5"}, "write a number and a unit"),
        ({"timeout": "9" * 400 + "h"}, "write a number and a unit"),
        ({"connect_timeout": "0s"}, "a connect timeout must be above 0"),
        ({"connect_timeout": "soon"}, "write a number and a unit"),
        ({"pause": "99999999h"}, "a pause is 0 to 24h"),
        ({"timeout": "25h"}, "at most 24h"),
        ({"pause": "-1s"}, "write a number and a unit"),
        ({"over": "0"}, "--over takes 1 ms or more"),
        ({"over": "400us"}, "--over takes 1 ms or more"),
        ({"over": "9" * 400 + "h"}, "write a number and a unit"),
        ({"http2": True}, "add --engine httpx"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused_with_what_is_accepted(options: dict[str, Any], accepted: str) -> None:
    message = refusal(lambda: LoadOptions(**options).plan(TARGET))
    assert accepted in message
    assert "\n" not in message


def test_an_engine_that_is_not_known_is_refused_with_those_that_are() -> None:
    assert refusal(lambda: Plan(TARGET, Workload(1, 1), engine="curl")).endswith("wire, aiohttp, httpx")


def test_options_left_out_are_a_burst_of_400() -> None:
    plan = LoadOptions().plan(TARGET)
    assert plan == Plan(TARGET, Workload(400, 400))
    assert plan.workload.is_burst
    assert not plan.workload.reuses_connections
    assert (plan.runs, plan.warmup, plan.pause_s, plan.over_ms, plan.engine) == (1, 0, 0, 1500, "wire")


def test_options_are_the_plan_they_describe() -> None:
    options = LoadOptions(
        n=10, concurrency=2, runs=3, warmup=1, pause="250ms", preconnect=True, disable_keepalive=True,
        engine=EngineName.HTTPX, http2=True, allow_remote=True, over="2s", timeout="1m", connect_timeout="5s",
        server_timing=True,
    )  # fmt: skip
    workload = Workload(10, 2, keepalive=False, preconnect=True, timeout_s=60, connect_timeout_s=5)
    assert options.plan(TARGET) == Plan(
        TARGET,
        workload,
        runs=3,
        warmup=1,
        pause_s=0.25,
        over_ms=2000,
        engine="httpx",
        http2=True,
        allow_remote=True,
        server_timing=True,
    )


@pytest.mark.parametrize(
    ("n", "concurrency", "keepalive", "reuses"),
    [(1, 1, True, False), (2, 2, True, False), (2, 1, True, True), (2, 1, False, False)],
)
def test_connections_are_used_again_only_where_requests_follow_each_other(
    n: int, concurrency: int, keepalive: bool, reuses: bool
) -> None:
    assert Workload(n, concurrency, keepalive=keepalive).reuses_connections == reuses


@given(st.integers(1, 10**9), st.data())
def test_a_schedule_has_every_request_and_never_more_in_flight_than_there_are(n: int, data: st.DataObject) -> None:
    concurrency = data.draw(st.integers(1, n))
    schedule = make_schedule(Workload(n, concurrency))
    assert schedule.requests == n
    assert 1 <= schedule.in_flight == concurrency <= schedule.requests


def test_a_body_makes_it_a_post_unless_a_method_is_given(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"\x00\xff")
    assert RequestOptions().target("http://h/").method == "GET"
    assert RequestOptions(body="a").target("http://h/").method == "POST"
    assert RequestOptions(body="ü").target("http://h/").body == "ü".encode()
    assert RequestOptions(body_file=file).target("http://h/").body == b"\x00\xff"
    assert RequestOptions(method="PUT", body="a").target("http://h/").method == "PUT"
    assert RequestOptions(method="HEAD").target("http://h/").method == "HEAD"


def test_a_body_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        message = refusal(lambda path=path: RequestOptions(body_file=path).target("http://h/"))  # type: ignore[misc]
        assert message.startswith(f"--body-file {path}: ")
        assert message.endswith("name a file that can be read")


def test_two_bodies_are_refused() -> None:
    options = RequestOptions(body="", body_file=Path("x"))
    assert refusal(lambda: options.target("http://h/")).endswith("give one")


def test_tls_options_reach_the_target() -> None:
    target = RequestOptions(insecure=True, cacert=Path("ca.pem")).target("https://h/")
    assert (target.verify, target.cacert) == (False, "ca.pem")
