from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.placeholders import Template, make_uuids
from loadgen.plan import Header, Plan, Share, Target, Workload
from loadgen.request import Requests
from loadgen.schedule import Shard

VALUES = (b"7", b"u")


def plan_of(*targets: Target, weights: tuple[int, ...] = ()) -> Plan:
    mix = tuple(Share(target, weight) for target, weight in zip(targets, weights or (1,) * len(targets), strict=True))
    return Plan(targets[0], Workload(100, 1), mix=mix if len(mix) > 1 else ())


def at(path: str, method: str = "GET", headers: tuple[Header, ...] = (), body: bytes = b"") -> Target:
    return Target.parse(f"http://127.0.0.1:8080{path}", method=method, headers=headers, body=body)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        (b"{seq}", b"7"),
        (b"a{seq}b{uuid}c{seq}", b"a7buc7"),
        (b"{{seq}}", b"{seq}"),
        (b"{{seq}} {seq}", b"{seq} 7"),
        (b'{"a": {"n": {seq}}}', b'{"a": {"n": 7}}'),
        (b"{ seq } {SEQ} {{x}} {} {{", b"{ seq } {SEQ} {{x}} {} {{"),
        (b"100%b {seq} %%", b"100%b 7 %%"),
    ],
)
def test_only_placeholders_are_filled(text: bytes, filled: bytes) -> None:
    assert Template(text).fill(VALUES) == filled


@given(st.binary().filter(lambda data: b"seq" not in data and b"uuid" not in data))
def test_what_has_no_placeholder_stays_as_it_is(data: bytes) -> None:
    template = Template(data)
    assert not template.varies
    assert template.fill(VALUES) == data


def test_uuids_are_random_ones_of_version_4_and_differ() -> None:
    new = make_uuids()
    made = [new().decode() for _ in range(1000)]
    assert len(set(made)) == 1000
    for text in made:
        read = uuid.UUID(text)
        assert (str(read), read.version, read.variant) == (text, 4, uuid.RFC_4122)


def test_two_generators_never_give_the_same_uuid() -> None:
    one, other = make_uuids(), make_uuids()
    assert {one() for _ in range(100)}.isdisjoint(other() for _ in range(100))


def test_a_placeholder_is_not_encoded_in_a_path_and_other_braces_are() -> None:
    assert at("/a/{seq}?id={uuid}&x={y}").path == "/a/{seq}?id={uuid}&x=%7By%7D"
    assert at("/{{seq}}").path == "/%7Bseq%7D"
    assert Requests(plan_of(at("/{{seq}}/{x}"))).constant is not None


def test_a_request_that_is_always_the_same_is_made_once() -> None:
    requests = Requests(plan_of(at("/json")))
    assert requests.constant is not None
    assert requests.encoded(*requests.take()) is requests.encoded(*requests.take()) is requests.constant
    assert requests.take()[0] == 0


def test_numbers_count_from_0_and_stand_wherever_they_are_asked_for() -> None:
    target = at("/o/{seq}", "PUT", (("X-Id", "n{seq}"),), b'{"n": {seq}}')
    requests = Requests(plan_of(target))
    assert requests.constant is None
    for number in range(12):
        data = requests.encoded(*requests.take())
        head, _, body = data.partition(b"\r\n\r\n")
        assert head.startswith(b"PUT /o/%d HTTP/1.1\r\n" % number)
        assert b"\r\nX-Id: n%d\r\n" % number in head
        assert body == b'{"n": %d}' % number
        assert re.findall(rb"Content-Length: (\d+)", head) == [b"%d" % len(body)]
        assert len(data) <= requests.longest


def test_one_request_has_one_uuid() -> None:
    requests = Requests(plan_of(at("/{uuid}", "POST", (("X-Id", "{uuid}"),), b"{uuid}")))
    found = [re.findall(rb"[0-9a-f-]{36}", requests.encoded(*requests.take())) for _ in range(2)]
    assert [len(uuids) for uuids in found] == [3, 3]
    assert [len(set(uuids)) for uuids in found] == [1, 1]
    assert found[0][0] != found[1][0]


def test_bytes_and_target_are_the_same_request() -> None:
    requests = Requests(plan_of(at("/{seq}?a=%25", "POST", (("X-%d", "ü {seq}"),), b"%s {seq}"), at("/b")))
    for target, seq in ((1, 5), (2, 6)):
        filled = requests.target(target, seq)
        assert Requests(plan_of(filled)).constant == requests.encoded(target, seq)


def test_the_order_is_by_the_weights_and_the_same_again() -> None:
    plan = plan_of(at("/a"), at("/b"), weights=(3, 1))
    orders = [[requests.take()[0] for _ in range(8)] for requests in (Requests(plan), Requests(plan))]
    assert orders == [[1, 1, 2, 1, 1, 1, 2, 1]] * 2


def test_shards_have_numbers_of_their_own_and_each_keeps_the_shares() -> None:
    plan = plan_of(at("/a"), at("/b"), weights=(3, 1))
    taken = []
    for index in range(3):
        requests = Requests(plan, Shard(index, 3))
        taken.append([requests.take() for _ in range(8)])
    assert sorted(seq for shard in taken for _, seq in shard) == list(range(24))
    for shard in taken:
        assert [number for number, _ in shard].count(1) == 6
    assert len({tuple(number for number, _ in shard) for shard in taken}) > 1
