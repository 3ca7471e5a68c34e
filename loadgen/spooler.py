"""The process behind `loadgen.spool`: reads rows on stdin, writes them as CSV or Parquet to stdout until stdin ends."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from loadgen.parquet import parquet_writer
from loadgen.samples import COLUMNS, Samples
from loadgen.spool import FRAME
from loadgen.store import DTYPES, csv_rows, gzip_member

_NICENESS: Final = 5
"""Behind the engine, and not so far behind that on a busy machine the engine would come to wait for it."""

Write = Callable[[int, int, Samples], None]
"""Writes rows of a run; the first of them is the request with that number."""


def read_rows(source: BinaryIO) -> Iterator[tuple[int, Samples]]:
    """Lots of rows with the number of their run, until the source ends; one that is cut short is left out."""
    while len(head := source.read(FRAME.size)) == FRAME.size:
        run, rows, size = FRAME.unpack(head)
        names = source.read(size).decode().split()
        columns = {name: _column(source, rows, DTYPES[name]) for name in COLUMNS}
        timing = {name: _column(source, rows, np.int64) for name in names}
        if any(len(column) < rows for column in (*columns.values(), *timing.values())):
            return
        yield run, Samples(**columns, server_timing=timing)


def _column(source: BinaryIO, rows: int, kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """The next column; a shorter one where the source ends within it."""
    size = np.dtype(kind).itemsize
    data = source.read(rows * size)
    return np.frombuffer(data[: len(data) // size * size], dtype=kind)


@contextlib.contextmanager
def _csv_writer(target: BinaryIO, extra: Collection[str]) -> Iterator[Write]:
    text = io.TextIOWrapper(target, encoding="utf-8", newline="", write_through=False)
    writer = csv.writer(text, lineterminator="\n")
    yield lambda run, first, samples: writer.writerows(csv_rows(run, samples, first, extra=extra))
    text.flush()


@contextlib.contextmanager
def _run_folder_writer(target: BinaryIO, extra: Collection[str], profile: str) -> Iterator[Write]:
    with gzip_member(target) as text:
        writer = csv.writer(text, lineterminator="\n")

        def write(run: int, first: int, samples: Samples) -> None:
            writer.writerows((profile, *row) for row in csv_rows(run, samples, first, extra=extra))

        yield write


def _writer(form: str, target: BinaryIO, extra: Collection[str], profile: str) -> AbstractContextManager[Write]:
    match form:
        case "run-folder":
            return _run_folder_writer(target, extra, profile)
        case "parquet":
            return parquet_writer(target, extra)
        case _:
            return _csv_writer(target, extra)


def main() -> int:
    """Carries it out; trouble is one line on stderr, and 1."""
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    form, profile, *extra = sys.argv[1:]
    written: dict[int, int] = {}
    target = os.fdopen(os.dup(1), "wb")
    try:
        with _writer(form, target, extra, profile) as write:
            for run, samples in read_rows(sys.stdin.buffer):
                first = written.get(run, 0)
                write(run, first, samples)
                written[run] = first + len(samples)
        target.close()
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
        sys.stderr.flush()
        os._exit(1)  # what is left in buffers cannot be written either
    return 0


if __name__ == "__main__":
    sys.exit(main())
