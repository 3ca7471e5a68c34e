"""Figures, their bounds, and the document made of them."""

from __future__ import annotations

from bench.document import render, render_table
from bench.figure import Figure, Section, Table, spread
from bench.rounds import interleave


def test_a_figure_is_the_median_held_against_its_bound() -> None:
    assert Figure("f", (3.0, 1.0, 2.0), "<=", 2.0).met is True
    assert Figure("f", (3.0, 1.0, 2.0), "<", 2.0).met is False
    assert Figure("f", (0.8, 0.95, 0.91), ">=", 0.9).met is True


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    figure = Figure("f", (), "<=", 2.0)
    assert (figure.value, figure.met, figure.verdict) == (None, None, "not measured")


def test_spread_has_no_value_where_one_is_missing() -> None:
    assert spread([1.0, 3.0, 2.0], 1) == "2.0 (1.0 to 3.0)"
    assert spread([1234.5]) == "1,234"
    assert spread([1.0, None]) == "n/a"
    assert spread([]) == "n/a"


def test_rounds_are_interleaved() -> None:
    order: list[str] = []

    def one(name: str) -> int:
        order.append(name)
        return len(order)

    assert interleave(2, ["a", "b"], one, what="test", show=str) == {"a": [1, 3], "b": [2, 4]}
    assert order == ["a", "b", "a", "b"]


def test_the_document_says_what_was_asked_and_measured() -> None:
    section = Section("Start", "Timed.", figures=[Figure("help", (0.2,), "<", 0.15, "s", 3)], notes=["a note"])
    text = render([("cores", "2")], [section])
    assert "| help   | 0.200 s  | under 0.150 s | missed |" in text
    assert "## Start\n\nTimed.\n" in text
    assert "- a note\n" in text
    assert "| cores | 2 |" in text


def test_tables_are_padded() -> None:
    assert render_table(Table(("a", "b"), [("long", "1")])) == "| a    | b |\n|------|---|\n| long | 1 |\n"
