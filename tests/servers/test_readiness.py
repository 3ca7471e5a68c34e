"""Whether a server answers yet: every answer that is none ends in words, and in time."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterable, Iterator

import pytest

from servers import readiness
from servers.readiness import can_be_asked, not_ready

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@contextlib.contextmanager
def answering(*pieces: bytes, forever: bool = False) -> Iterator[str]:
    """The URL of a server that answers one request with these pieces, again and again if so wished."""

    def answer() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                sent: Iterable[bytes] = itertools.cycle(pieces) if forever else pieces
                for piece in sent:
                    connection.sendall(piece)
                    time.sleep(0.001)  # so that each comes by itself

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    thread.join()


@pytest.mark.parametrize("path", ["", "/", "/health?x=1", "?x=1", "/#part"])
def test_answer_in_any_number_of_pieces(path: str) -> None:
    with answering(*(bytes([letter]) for letter in OK)) as url:
        assert not_ready(f"{url}{path}", range(200, 300)) is None


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ([], "gives no answer"),
        ([b"\xff\xfe hello\r\n\r\n"], "gives no HTTP answer"),
        ([b"HTTP/1.1 9999 X\r\n\r\n"], "gives no HTTP answer"),
        ([b"HTTP/1.1 503 X\r\n\r\n"], "answers 503"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", OK], "answers 100"),
    ],
)
def test_other_answers_in_words(pieces: list[bytes], says: str) -> None:
    with answering(*pieces) as url:
        assert not_ready(f"{url}/", range(200, 300)) == f"{url}/ {says}"


@pytest.mark.parametrize("pieces", [[b"HTTP/1.1 200 OK\r\n"], [b"x"]], ids=["header without end", "line without end"])
def test_answer_that_trickles_in_for_ever_holds_nobody_up(pieces: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_ASK_TIMEOUT_S", 0.1)
    with answering(*pieces, forever=True) as url:
        assert not_ready(f"{url}/", range(200, 300)) == f"{url}/ gives no answer: timed out"


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert not_ready(f"http://127.0.0.1:{port}/", range(200, 300)) == f"nobody listens on 127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("ready", "accepted"),
    [
        ("/", True),
        ("//x?a=%20#b", True),
        ("http://localhost", True),
        ("http://[::1]:80/x", True),
        ("", False),
        ("health", False),
        ("https://localhost/", False),
        ("/a b", False),
        ("/a\r\nb", False),
        ("/ü", False),
        ("http://", False),
        ("http:///x", False),
        ("http://[::1/", False),
        ("http://[bad]/", False),
        ("http://localhost:x/", False),
        ("http://localhost:0/", False),
        ("http://localhost:65536/", False),
        ("http://me@localhost/", False),
        ("http://a..b/", False),
        (f"http://{'a' * 64}/", False),
    ],
)
def test_what_can_be_asked(ready: str, accepted: bool) -> None:
    assert can_be_asked(ready) is accepted
