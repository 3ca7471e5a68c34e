"""What is read of a TOML file, whatever reads it: bounds that TOML itself has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.toml import read_toml


def written(folder: Path, text: str) -> Path:
    file = folder / "a.toml"
    file.write_text(text)
    return file


def test_content(tmp_path: Path) -> None:
    text = f'a = {2**63 - 1}\nb = ["ä", {{ c = -1.5 }}]\n'
    assert read_toml(written(tmp_path, text)) == {"a": 2**63 - 1, "b": ["ä", {"c": -1.5}]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = \n", "is no TOML: Invalid value (at line 1, column 5)"),
        ("a = " + "[" * 30 + "]" * 30, "is nested too deeply: 20 tables and lists in each other are accepted"),
        ("a = " + "[" * 100_000, "is nested too deeply"),
        (".".join("a" * 2_000) + " = 1", "is nested too deeply"),
        ("a = " + "9" * 5_000, "is no TOML: Exceeds the limit"),
        ("a = 0x" + "f" * 5_000, f"holds a whole number above {2**63 - 1}"),
        ("a = { b = [-1" + "0" * 400 + "] }", "holds a whole number above"),
        ('a = "b\\u0000"', "holds the character NUL"),
        ('"\\u0000" = 1', "holds the character NUL"),
        ("#" * 1_000_001, "is too long: 1,000,000 bytes are accepted"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_not_accepted(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"^(is|holds) ") as refused:
        read_toml(written(tmp_path, text))
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)


def test_endless_file() -> None:
    with pytest.raises(ValueError, match="is too long"):
        read_toml(Path("/dev/zero"))
