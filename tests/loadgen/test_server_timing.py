from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.engines.wire.response import TimingReader
from loadgen.server_timing import MOST_CHARACTERS, durations_ns, is_metric_name

names = st.from_regex(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}", fullmatch=True)
microseconds = st.integers(0, 86_400_000_000)
spaces = st.sampled_from(["", " ", "\t", "  "])
pieces = st.sampled_from([*',;="\\ \tx1.', "dur", "dur=1", "db;dur=2", "desc=", '"a,b"', "é", "nan", "1e3", "-"])


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("work;dur=100.1", {"work": 100_100_000}),
        ("acquire;dur=12.3, work;dur=100.1", {"acquire": 12_300_000, "work": 100_100_000}),
        ('db;desc="a, b; dur=3";dur=5', {"db": 5_000_000}),
        (r'db;desc="say \"dur\", then";dur=5, b;dur=1', {"db": 5_000_000, "b": 1_000_000}),
        ('db;dur="5.5"', {"db": 5_500_000}),
        ("db;DUR=1;dur=2", {"db": 1_000_000}),
        ("db ; dur = .5 ; x=y", {"db": 500_000}),
        ("db;dur=1e3", {"db": 1_000_000_000}),
        ("db;dur=1;", {"db": 1_000_000}),
        ("Db;dur=1, db;dur=2", {"Db": 1_000_000, "db": 2_000_000}),
        ("db;dur=1, db;dur=2", {"db": 3_000_000}),
        ("db;dur=0", {"db": 0}),
        ("hit, miss;desc=x, a;dur=1", {"a": 1_000_000}),
        ("two words;dur=1, ok;dur=2", {"ok": 2_000_000}),
        ("a;dur=, b;dur, c;dur=x, d;dur=nan, e;dur=inf, f;dur=-1, g;dur=1_0, h;dur=1 0, i;dur=1e99", {}),
        ("a;dur=x;dur=1", {}),
        ("a;dur=86400001", {}),
        ('a;dur="1', {}),
        ('a;desc="not closed, b;dur=1', {}),
        (f"{'a' * 65};dur=1", {}),
        ("größe;dur=1", {}),
        ("", {}),
        (" ,,; ,=", {}),
    ],
)
def test_a_field_has_these_durations(field: str, found: dict[str, int]) -> None:
    assert durations_ns([field]) == found


@given(st.dictionaries(names, microseconds), st.booleans(), spaces, spaces, st.booleans())
def test_what_a_server_writes_is_read(
    written: dict[str, int], quoted: bool, before: str, after: str, in_lines: bool
) -> None:
    mark = '"' if quoted else ""
    metrics = [
        f"{before}{name}{after};{before}dur={mark}{us // 1000}.{us % 1000:03}{mark}{after}"
        for name, us in written.items()
    ]
    fields = metrics if in_lines else [",".join(metrics[at : at + 50]) for at in range(0, len(metrics), 50)]
    assert durations_ns(fields) == {name: us * 1000 for name, us in written.items()}


@given(st.lists(st.text(max_size=80) | st.lists(pieces, max_size=30).map("".join), max_size=4))
def test_whatever_stands_there_only_names_and_durations_come_of_it(fields: list[str]) -> None:
    for name, duration_ns in durations_ns(fields).items():
        assert is_metric_name(name)
        assert duration_ns >= 0


@given(st.lists(pieces, max_size=30).map("".join).filter(lambda text: '"' not in text))
def test_what_is_malformed_takes_nothing_along(text: str) -> None:
    found = durations_ns([f"first;dur=1, {text}, last;dur=2"])
    assert (found["first"], found["last"]) == (1_000_000, 2_000_000)


def test_a_field_too_long_is_ignored_as_a_whole() -> None:
    assert durations_ns(["a;dur=1," + "b;dur=12," * MOST_CHARACTERS, "c;dur=3"]) == {"c": 3_000_000}


@given(st.lists(st.integers(0, 200)), st.booleans())
def test_a_reader_keeps_the_fields_of_the_response_that_counts_however_it_comes(cuts: list[int], head: bool) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nServer-Timing: early;dur=1\r\n\r\n"
    last = b"HTTP/1.1 200 OK\r\nserver-timing: a;dur=1\r\nX: y\r\nSERVER-TIMING: b;dur=2\r\nContent-Length: 0\r\n\r\n"
    data = early + last
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    reader = TimingReader(head_only=head)
    for _ in range(2):
        reader.begin(head_only=head)
        for start, end in pairwise(edges):
            reader.feed(data[start:end])
        assert reader.complete
        assert reader.server_timing == ["a;dur=1", "b;dur=2"]
    reader.begin(head_only=head)
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert reader.server_timing == []
