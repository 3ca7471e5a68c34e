"""The process behind `loadgen.spool`: reads rows on stdin, writes them as CSV or Parquet to stdout until stdin ends."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import BinaryIO, Final

import numpy as np

from loadgen.parquet import parquet_writer
from loadgen.samples import Samples
from loadgen.spool import FRAME
from loadgen.store import DTYPES, csv_rows

_NICENESS: Final = 5
"""Behind the engine, and not so far behind that on a busy machine the engine would come to wait for it."""

Write = Callable[[int, int, Samples], None]
"""Writes rows of a run; the first of them is the request with that number."""


def read_rows(source: BinaryIO) -> Iterator[tuple[int, Samples]]:
    """Lots of rows with the number of their run, until the source ends; one that is cut short is left out."""
    while len(head := source.read(FRAME.size)) == FRAME.size:
        run, rows = FRAME.unpack(head)
        columns = {}
        for field in fields(Samples):
            dtype = np.dtype(DTYPES[field.name])
            data = source.read(rows * dtype.itemsize)
            if len(data) < rows * dtype.itemsize:
                return
            columns[field.name] = np.frombuffer(data, dtype=dtype)
        yield run, Samples(**columns)


@contextlib.contextmanager
def _csv_writer(target: BinaryIO) -> Iterator[Write]:
    text = io.TextIOWrapper(target, encoding="utf-8", newline="", write_through=False)
    writer = csv.writer(text, lineterminator="\n")
    yield lambda run, first, samples: writer.writerows(csv_rows(run, samples, first))
    text.flush()


def main() -> int:
    """Carries it out; trouble is one line on stderr, and 1."""
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    make: Callable[[BinaryIO], AbstractContextManager[Write]]
    make = parquet_writer if sys.argv[1:] == ["parquet"] else _csv_writer
    written: dict[int, int] = {}
    target = os.fdopen(os.dup(1), "wb")
    try:
        with make(target) as write:
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
