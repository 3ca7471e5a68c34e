from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadgen.errors import UsageError
from loadgen.mix_options import read_mix
from loadgen.options import RequestOptions
from loadgen.plan import Share

BASE = "http://127.0.0.1:8080"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "targets.txt"


def read(file: Path, text: str | bytes, *urls: str, **options: object) -> tuple[Share, ...]:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_mix(urls or (BASE,), None, file, RequestOptions(**options))  # type: ignore[arg-type]


def told(share: Share) -> tuple[str, str, int]:
    return share.target.method, share.target.url, share.weight


def test_a_line_is_a_request(file: Path) -> None:
    text = f"""# mostly reads
GET /json
/cpu?steps=5 3

  DELETE {BASE}/orders/{{seq}} 2\r
{BASE}/thread
{{"url": "/orders", "method": "PUT", "headers": {{"X-A": "1"}}, "body": "{{\\"n\\": {{seq}}}}", "weight": 4}}
{{"url": "/orders", "body": "größe"}}
"""
    shares = read(file, text)
    assert [told(share) for share in shares] == [
        ("GET", f"{BASE}/json", 1),
        ("GET", f"{BASE}/cpu?steps=5", 3),
        ("DELETE", f"{BASE}/orders/{{seq}}", 2),
        ("GET", f"{BASE}/thread", 1),
        ("PUT", f"{BASE}/orders", 4),
        ("POST", f"{BASE}/orders", 1),
    ]
    assert shares[4].target.headers == (("X-A", "1"),)
    assert shares[4].target.body == b'{"n": {seq}}'
    assert shares[5].target.body == "größe".encode()


def test_options_hold_for_every_line_that_does_not_say_otherwise(file: Path) -> None:
    text = '/a\n{"url": "/b", "method": "GET", "headers": [["x-one", "2"], ["x-one", "3"]]}\n'
    plain, own = read(file, text, method="PATCH", headers=("X-One: 1", "X-Two: 2"), insecure=True)
    assert (plain.target.method, own.target.method) == ("PATCH", "GET")
    assert plain.target.headers == (("X-One", "1"), ("X-Two", "2"))
    assert own.target.headers == (("X-Two", "2"), ("x-one", "2"), ("x-one", "3"))
    assert not plain.target.verify
    assert not own.target.verify


def test_without_a_url_the_first_line_says_whose_the_paths_are(file: Path) -> None:
    file.write_text("http://127.0.0.1:9/a\n/b\n")
    shares = read_mix((), None, file, RequestOptions())
    assert [share.target.url for share in shares] == ["http://127.0.0.1:9/a", "http://127.0.0.1:9/b"]


def test_bytes_that_are_no_utf_8_are_percent_encoded_as_they_are(file: Path) -> None:
    (share,) = read(file, b"\xef\xbb\xbfGET /\xe4\n")
    assert share.target.path == "/%E4"


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ("GET", "write GET /path"),
        ("GET json", "write GET /path"),
        ("GET /a 1 2", "write GET /path"),
        ("GET /a many", "a whole number from 1 on"),
        ("GET /a -1", "a whole number from 1 on"),
        ("GET /a 0", "a whole number, 1 to 1,000,000"),
        ("GE(T /a", "it must be one word, such as GET"),
        ("ftp://127.0.0.1/", "it must begin with http:// or https://"),
        ("http://127.0.0.1:81/", "all must be at one"),
        ("https://127.0.0.1:8080/", "all must be at one"),
        ("{", "it is not JSON"),
        ("{" * 10_000, "it is not JSON"),
        ("{}", "its url must be given"),
        ('{"url": "a"}', "its url must be given"),
        ('{"url": 1}', "its url must be a text in quotes"),
        ('{"url": "/", "methd": "GET"}', "'methd' is not known: url, method, headers, body, weight"),
        ('{"url": "/", "weight": 1.5}', "a whole number from 1 on"),
        ('{"url": "/", "weight": true}', "a whole number from 1 on"),
        ('{"url": "/", "body": {"a": 1}}', "its body must be a text in quotes"),
        ('{"url": "/", "body": "\\ud800"}', "half a character"),
        ('{"url": "/", "headers": {"X": 1}}', "its headers must be texts by their names"),
        ('{"url": "/", "headers": {"X:Y": "1"}}', "its headers must be texts by their names"),
        ('{"url": "/", "headers": 3}', "its headers must be texts by their names"),
        ('{"url": "/", "headers": {"X": "a\\r\\nY: b"}}', "control character"),
        ('{"url": "/", "headers": {"X Y": "b"}}', "write it as 'Name: value'"),
    ],
)
def test_a_line_that_is_not_accepted_is_told_by_its_number(file: Path, line: str, accepted: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(file, f"# first\n\nGET /good\n{line}\nGET /good\n")
    message = str(refused.value)
    assert f"{file} line 4: " in message
    assert accepted in message
    assert "\n" not in message


@pytest.mark.parametrize("line", ["[" * 100_000, f"GET / {'9' * 100_000}", f'{{"{"k" * 100_000}": 1}}'])
def test_of_a_long_line_the_begin_is_told(file: Path, line: str) -> None:
    with pytest.raises(UsageError, match=r"line 1: .*\.\.\.") as refused:
        read(file, line)
    assert len(str(refused.value)) < 400 + len(str(file))


@pytest.mark.parametrize("text", ["", "\n# nothing\n"])
def test_a_file_without_a_target(file: Path, text: str) -> None:
    with pytest.raises(UsageError, match="there is no target in it"):
        read(file, text)


def test_a_path_needs_a_server(file: Path) -> None:
    file.write_text("/a\nhttp://127.0.0.1:9/b\n")
    with pytest.raises(UsageError, match="line 1: /a is of no server"):
        read_mix((), None, file, RequestOptions())


def test_a_file_of_json_written_by_a_program_is_read(file: Path) -> None:
    wanted = [{"url": f"/{number}", "headers": {"X": "é\t"}, "body": '"\\\n', "weight": number} for number in (1, 2)]
    shares = read(file, "\n".join(map(json.dumps, wanted)))
    assert [told(share) for share in shares] == [("POST", f"{BASE}/1", 1), ("POST", f"{BASE}/2", 2)]
    assert {share.target.body for share in shares} == {b'"\\\n'}
