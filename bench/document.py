"""docs/performance.md, made from sections: every number in it comes from the run. Pure: values in, text out."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill
from typing import Final

from bench.figure import WORDS, Figure, Section, Table, number

_WIDTH: Final = 120

_HEAD: Final = """\
# Performance

Written by `make bench`; not to be edited by hand. What is asked for comes first, then how each figure was measured.
Peers are those that are installed, on `PATH` or in the folders that `BENCH_PATH` names. Times move from machine to
machine and with what else it does; ratios within a round move less, so that is what most bounds are on.
"""


def render(machine: list[tuple[str, str]], sections: list[Section]) -> str:
    """The whole document."""
    parts = [_HEAD, "## Asked and measured\n", summary(sections), "## Machine\n"]
    parts.append(render_table(Table(("", ""), [*machine])))
    for section in sections:
        parts.append(f"## {section.title}\n\n{fill(section.method, _WIDTH)}\n")
        parts += [render_table(table) for table in section.tables]
        if section.notes:
            parts.append("".join(f"- {note}\n" for note in section.notes))
    return "\n".join(parts)


def summary(sections: Iterable[Section]) -> str:
    """The table of the figures with their bounds."""
    rows = [_figure_row(figure) for section in sections for figure in section.figures]
    return render_table(Table(("figure", "measured", "bound", ""), rows))


def render_table(table: Table) -> str:
    """A Markdown table whose columns are padded, so that it reads well as text too."""
    widths = [max(len(row[i]) for row in (table.header, *table.rows)) for i in range(len(table.header))]

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))} |\n"

    title = f"### {table.title}\n\n" if table.title else ""
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|\n"
    return title + line(table.header) + rule + "".join(map(line, table.rows))


def _figure_row(figure: Figure) -> tuple[str, ...]:
    unit = f" {figure.unit}" if figure.unit else ""
    measured = number(figure.value, figure.digits) + (unit if figure.values else "")
    return (figure.name, measured, f"{WORDS[figure.sign]} {number(figure.bound, figure.digits)}{unit}", figure.verdict)
