from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import DataError
from loadgen.outcome import Outcome
from loadgen.parquet import parquet_writer, read_parquet
from loadgen.samples import COLUMNS, MISSING, Samples
from loadgen.store import CSV_HEADER, csv_rows, json_data, read_csv, read_json, read_profiles_csv
from tests.loadgen.make import any_samples, failed_rows, ok_rows, samples_of, timed, timed_samples

Runs = dict[int, Samples]

many_runs = st.dictionaries(st.integers(1, 1000), any_samples(5), max_size=3)

TWO_RUNS = {1: samples_of(ok_rows(1, 2)), 2: samples_of(failed_rows(Outcome.REFUSED, 3))}


def to_csv(runs: Runs, *extra: str) -> str:
    rows = (row for run, samples in runs.items() for row in csv_rows(run, samples, extra=extra))
    lines = [(*CSV_HEADER, *extra), *rows]
    return "".join(",".join("" if value is None else str(value) for value in line) + "\n" for line in lines)


def to_json(runs: Runs) -> str:
    return json.dumps(json_data(runs))


def assert_equal(read: Runs, written: Runs) -> None:
    assert [*read] == [*written]
    for run, samples in written.items():
        timing, expected_timing = read[run].server_timing, samples.server_timing
        assert timing.keys() == expected_timing.keys()
        pairs = [(getattr(read[run], name), getattr(samples, name)) for name in COLUMNS]
        for column, expected in [*pairs, *((timing[name], expected_timing[name]) for name in timing)]:
            assert column.dtype == expected.dtype
            np.testing.assert_array_equal(column, expected)


@given(many_runs)
def test_samples_survive_csv(runs: Runs) -> None:
    assert_equal(read_csv(io.StringIO(to_csv(runs))), runs)


@given(many_runs)
def test_samples_survive_json(runs: Runs) -> None:
    assert_equal(read_json(io.StringIO(to_json(runs))), runs)


def test_the_servers_own_figures_survive_parquet(tmp_path: Path) -> None:
    runs = {
        1: timed(samples_of(ok_rows(9, 9, 9)), acquire=[0, None, 2], work=[1.5, None, None]),
        2: samples_of(ok_rows(9)),
        3: timed(samples_of(ok_rows(9, 9)), work=[None, 3], query=[4, None]),
    }
    path = tmp_path / "rows.parquet"
    with path.open("wb") as file, parquet_writer(file, ["server_timing_ns"]) as write:
        for run, samples in runs.items():
            first = np.arange(len(samples)) == 0  # in two lots, as of a run that lasts
            write(run, 0, samples.of(first))
            write(run, 1, samples.of(~first))
    assert_equal(read_parquet(path), runs)


@given(st.dictionaries(st.integers(1, 1000), timed_samples(), max_size=3))
def test_the_servers_own_figures_survive_both(runs: Runs) -> None:
    text = to_csv(runs, "server_timing_ns")
    assert_equal(read_csv(io.StringIO(text)), runs)
    assert_equal(read_json(io.StringIO(to_json(runs))), runs)
    with_profile = "".join(f"{'a' if at else 'profile'},{line}" for at, line in enumerate(text.splitlines(True)))
    assert_equal({run: samples for (_, run), samples in read_profiles_csv(io.StringIO(with_profile)).items()}, runs)


def test_a_figure_that_the_server_did_not_give_is_left_out_and_null() -> None:
    runs = {1: timed(samples_of(ok_rows(9, 9)), acquire=[0, None], work=[1.5, None])}
    lines = to_csv(runs, "server_timing_ns").splitlines()
    assert [line.rpartition(",")[2] for line in lines] == ["server_timing_ns", "acquire=0 work=1500000", ""]
    assert json_data(runs)["runs"][0]["server_timing_ns"] == {"acquire": [0, None], "work": [1_500_000, None]}


@pytest.mark.parametrize(
    "figures", ["work", "work=", "work=-1", "work=x", "=7", "a b=1", "a=1  b=2", "work=1,b=2", "ä=1"]
)
def test_damaged_figures_are_refused_with_the_line(figures: str) -> None:
    with pytest.raises(DataError, match="line 2"):
        read_csv(io.StringIO(f"{HEADER},server_timing_ns\n{GOOD},{figures}\n"))


def test_more_figures_than_are_kept_are_refused() -> None:
    rows = [f"{GOOD.replace('1,0,', f'1,{row},', 1)},m{row}=1" for row in range(9)]
    with pytest.raises(DataError, match="8 names at most"):
        read_csv(io.StringIO("\n".join([f"{HEADER},server_timing_ns", *rows])))


def test_a_file_of_samples_from_before_there_were_figures_is_read() -> None:
    data = json_data(TWO_RUNS)
    for run in data["runs"]:
        del run["server_timing_ns"]
    assert_equal(read_json(io.StringIO(json.dumps(data))), TWO_RUNS)


def test_a_stage_never_reached_is_an_empty_field_and_null() -> None:
    runs = {
        1: samples_of([{"connected": MISSING, "status": MISSING, "resent": MISSING, "outcome": int(Outcome.RESET)}])
    }
    assert to_csv(runs).splitlines()[1] == "1,0,0,0,,0,0,0,,reset,0,"
    columns = json_data(runs)["runs"][0]["columns"]
    assert columns["connected_ns"] == columns["status"] == columns["resent"] == [None]
    assert columns["outcome"] == ["reset"]
    assert columns["due_ns"] == [0]


def test_the_target_is_a_column_only_where_there_are_several() -> None:
    assert "target" not in json_data(TWO_RUNS)["runs"][0]["columns"]
    runs = {3: samples_of([{"target": 1}, {"target": 32767}, {"target": MISSING}])}
    text = to_csv(runs, "target")
    assert [line.rpartition(",")[2] for line in text.splitlines()] == ["target", "1", "32767", ""]
    assert_equal(read_csv(io.StringIO(text)), runs)
    assert_equal(read_json(io.StringIO(to_json(runs))), runs)
    with pytest.raises(DataError, match=r"line 3: 13 fields, not 12"):
        read_csv(io.StringIO(f"{HEADER}\n{GOOD}\n{GOOD.replace('1,0', '1,1', 1)},1\n"))


def test_targets_and_the_servers_own_figures_stand_side_by_side() -> None:
    runs = {1: timed(samples_of([{"target": 2}, {"target": 1}]), work=[1.5, None])}
    text = to_csv(runs, "target", "server_timing_ns")
    assert [line.split(",")[-2:] for line in text.splitlines()] == [
        ["target", "server_timing_ns"], ["2", "work=1500000"], ["1", ""]
    ]  # fmt: skip
    assert_equal(read_csv(io.StringIO(text)), runs)
    assert_equal(read_json(io.StringIO(to_json(runs))), runs)
    with pytest.raises(DataError, match="line 1 must be"):
        read_csv(io.StringIO(f"{HEADER},server_timing_ns,target\n"))


HEADER = ",".join(CSV_HEADER)
GOOD = "1,0,0,5,9,20,30,125,200,ok,0,0"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("time,status\n1,200\n", 1),
        (f"{HEADER},more\n{GOOD},1\n", 1),
        (f"{HEADER}\n{GOOD}\n1,1,0,5,9,20,30,125,200\n{GOOD}\n", 3),  # cut within the row
        (
            f"{HEADER}\n{GOOD}\n1,1,0,5,9,20,30,125,200,ok,0\n",
            3,
        ),  # the last field, which may be empty, not there at all
        (f"{HEADER}\n{GOOD},7\n", 2),
        (f"{HEADER}\n{GOOD}\n\n1,1,0,5,9,20,30,125,200,fine,0,0\n{GOOD}\n", 4),
        (f"{HEADER}\n1,0,soon,5,9,20,30,125,200,ok,0,0\n{GOOD}\n", 2),
        (f"{HEADER}\n1,0,0,5,9,20,30,,200,ok,0,0\n", 2),  # a count is never missing
        (f"{HEADER}\n1,0,0,5,9,20,30,125,70000,ok,0,0\n", 2),
        (f"{HEADER}\n1,0,99999999999999999999,5,9,20,30,125,200,ok,0,0\n", 2),
        (f"{HEADER}\nfirst,0,0,5,9,20,30,125,200,ok,0,0\n", 2),
        (f"{HEADER}\n{GOOD}\n1,2,0,5,9,20,30,125,200,ok,0,0\n", 3),  # request 1 is gone
        (f"{HEADER}\n{GOOD}\n2,0,0,5,9,20,30,125,200,ok,0,0\n{GOOD}\n", 4),  # run 1 again
        (f"{HEADER}\n1,0,0,5,9,20,30,125,200,o\0k,0,0\n", 2),
        (f"{HEADER}\n1,0,-7,5,9,20,30,125,200,ok,0,0\n", 2),
    ],
)
def test_a_damaged_csv_file_is_refused_with_the_line(text: str, line: int) -> None:
    with pytest.raises(DataError) as refused:
        read_csv(io.StringIO(text))
    message = str(refused.value)
    assert f"line {line}" in message
    assert "\n" not in message


def damaged(change: Callable[[dict[str, Any]], object]) -> str:
    data = json_data(TWO_RUNS)
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "3", "null", to_json(TWO_RUNS)[:-30],
        damaged(lambda data: data.update(schema="loadgen-samples/9")),
        damaged(lambda data: data.update(runs=None)),
        damaged(lambda data: data["runs"][1].pop("run")),
        damaged(lambda data: data["runs"][1]["columns"].pop("done_ns")),
        damaged(lambda data: data["runs"][0]["columns"]["due_ns"].pop()),
        damaged(lambda data: data["runs"][0]["columns"].update(due_ns=7)),
        damaged(lambda data: data["runs"][0]["columns"].update(outcome=["ok", None])),
        damaged(lambda data: data["runs"][0]["columns"].update(outcome=["ok", 3])),
        damaged(lambda data: data["runs"][0]["columns"].update(outcome=["ok", "fine"])),
        damaged(lambda data: data["runs"][0]["columns"].update(bytes_in=[1, None])),
        damaged(lambda data: data["runs"][0]["columns"].update(status=[200, 70000])),
        damaged(lambda data: data["runs"][0]["columns"].update(due_ns=[0, float("nan")])),
        damaged(lambda data: data["runs"][0]["columns"].update(due_ns=[0, -7])),
        damaged(lambda data: data["runs"][0]["columns"].update(due_ns=[0, 1.5])),
        damaged(lambda data: data["runs"].append(data["runs"][0])),
        damaged(lambda data: data["runs"][0].update(server_timing_ns=None)),
        damaged(lambda data: data["runs"][0].update(server_timing_ns=["work"])),
        damaged(lambda data: data["runs"][0].update(server_timing_ns={"work": [1]})),
        damaged(lambda data: data["runs"][0].update(server_timing_ns={"work": [1, -2]})),
        damaged(lambda data: data["runs"][0].update(server_timing_ns={"no word": [1, 2]})),
    ],
)  # fmt: skip
def test_a_damaged_json_file_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"^not a file of samples[^\n]*$"):
        read_json(io.StringIO(text))


@given(st.text(max_size=200))
def test_no_text_makes_a_reader_fail_in_another_way(text: str) -> None:
    for read in (read_csv, read_json):
        with pytest.raises(DataError):
            read(io.StringIO(text))


@given(st.text(max_size=60), st.integers(0, 80))
def test_no_change_to_a_csv_file_makes_the_reader_fail_in_another_way(text: str, at: int) -> None:
    whole = to_csv(TWO_RUNS)
    at += len(HEADER) + 1
    with contextlib.suppress(DataError):
        read_csv(io.StringIO(whole[:at] + text + whole[at:]))


def test_a_file_in_another_encoding_is_refused() -> None:
    for read in (read_csv, read_json, read_profiles_csv):
        with pytest.raises(DataError):
            read(io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00"), encoding="utf-8"))
