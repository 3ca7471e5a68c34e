from __future__ import annotations

from pathlib import Path

import pytest

from loadgen.errors import UsageError
from loadgen.redaction import Redaction
from loadgen.saving import SaveOptions

NAMED = Redaction(("token", "X-Customer"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("http://h/?token=abc&n=1", "http://h/?token=(redacted)&n=1"),
        ("http://h/?a=1&TOKEN=abc#end", "http://h/?a=1&TOKEN=(redacted)#end"),
        ("http://h/?mytoken=abc", "http://h/?mytoken=abc"),
        ('{"token": "a \\"b\\" c", "n": 1}', '{"token": (redacted), "n": 1}'),
        ("serve --token abc --port {port}", "serve --token (redacted) --port {port}"),
        ("serve --token='a b' -q", "serve --token=(redacted) -q"),
        ("TOKEN=abc serve", "TOKEN=(redacted) serve"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_values_behind_a_name(text: str, left: str) -> None:
    assert NAMED.text(text) == left
    assert Redaction().text(text) == text


def test_headers() -> None:
    given = [("Authorization", "Bearer a"), ("x-customer", "b"), ("Accept", "token=c"), ("Set-Cookie", "d")]
    assert NAMED.headers(given) == [
        ["Authorization", "(redacted)"],
        ["x-customer", "(redacted)"],
        ["Accept", "token=(redacted)"],
        ["Set-Cookie", "(redacted)"],
    ]
    assert [value for _, value in Redaction().headers(given)] == ["(redacted)", "b", "token=c", "(redacted)"]


def test_command() -> None:
    command = [
        "loadgen",
        "http://h/?token=a",
        "-H",
        "Cookie: a",
        "-HX-Customer:a",
        "--header=Accept: x",
        "--token",
        "a",
    ]
    assert NAMED.command(command) == [
        "loadgen", "http://h/?token=(redacted)", "-H", "Cookie: (redacted)", "-HX-Customer: (redacted)",
        "--header=Accept: x", "--token", "(redacted)",
    ]  # fmt: skip


def test_data() -> None:
    data = {"token": ["token=a", 1, None], "deep": {"url": "/?token=a"}}
    assert NAMED.data(data) == {"token": ["token=(redacted)", 1, None], "deep": {"url": "/?token=(redacted)"}}


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a:"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(UsageError, match="--redact"):
        Redaction((name,))


def test_the_name_of_a_folder_has_no_secret(tmp_path: Path) -> None:
    options = SaveOptions(runs_dir=tmp_path)
    with options.open("loadgen", "loadgen", ["h/x?token=hunter2&n=1"], redact=("token",)) as folder:
        assert "hunter2" not in folder.path.name
        assert "hunter2" not in (folder.path / "result.json").read_text()
