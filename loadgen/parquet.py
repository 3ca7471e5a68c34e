"""Samples to Parquet and back: the columns of the CSV form by the same names, a stage never reached null, the server's
own figures a map.

Needs pyarrow, the extra `parquet`; imported by what uses it alone.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from loadgen.errors import DataError, UsageError
from loadgen.outcome import Outcome
from loadgen.samples import COLUMNS, MISSING, Ints, Samples, joined
from loadgen.store import DTYPES, FILE_COLUMNS, NULLABLE, TIMING, check_names, public_name

_GROUP: Final = 131_072
"""Rows written at once: in smaller groups a file is larger, and slower to read."""
_LABELS: Final = [outcome.label for outcome in Outcome]


def check_parquet(option: str) -> None:
    """Raises UsageError where pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError(f"{option}: a .parquet file needs pyarrow: pip install 'loadrig[parquet]'")


@contextmanager
def parquet_writer(target: BinaryIO, extra: Collection[str]) -> Iterator[Callable[[int, int, Samples], None]]:
    """A function that writes rows of a run, the first of them the request with that number."""
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow import parquet

    waiting: list[Any] = []

    def write(run: int, first: int, samples: Samples) -> None:
        waiting.append(_batch(run, first, samples, schema))
        if sum(len(batch) for batch in waiting) >= _GROUP:
            flush()

    def flush() -> None:
        writer.write_table(pa.Table.from_batches(waiting, schema))
        waiting.clear()

    schema = _schema(extra)
    with parquet.ParquetWriter(target, schema) as writer:
        yield write
        flush()


def read_parquet(path: Path) -> dict[int, Samples]:
    """The runs of a file, by number.

    Raises:
        DataError: it is not such a file.
    """
    check_parquet(str(path))
    import pyarrow as pa
    from pyarrow import parquet

    parts: dict[int, list[Samples]] = {}
    try:
        file = parquet.ParquetFile(path)
        for batch in file.iter_batches(columns=_schema(file.schema_arrow.names).names):
            runs = batch.column("run").to_numpy()
            samples = _samples(batch)
            for run in np.unique(runs).tolist():
                parts.setdefault(run, []).append(_without_empty_timing(samples.of(runs == run)))
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise DataError(f"not a file of samples: {' '.join(str(error).split())}") from None
    return {run: joined(of_run) for run, of_run in parts.items()}


def _schema(extra: Collection[str]) -> Any:
    import pyarrow as pa

    names = _columns_in(extra)
    types = {name: pa.from_numpy_dtype(np.dtype(DTYPES[name])) for name in names}
    types["outcome"] = pa.dictionary(pa.int8(), pa.string())
    columns = [(public_name(name), types[name]) for name in names]
    if TIMING in extra:
        columns.append((TIMING, pa.map_(pa.string(), pa.int64())))
    return pa.schema([("run", pa.int32()), ("request", pa.int64()), *columns])


def _columns_in(names: Collection[str]) -> tuple[str, ...]:
    """The columns of a file, of which it has these among others."""
    return COLUMNS if "target" in names else FILE_COLUMNS


def _batch(run: int, first: int, samples: Samples, schema: Any) -> Any:
    import pyarrow as pa

    rows = len(samples)
    columns: list[Any] = [pa.array(np.full(rows, run, dtype=np.int32)), pa.array(np.arange(first, first + rows))]
    for name in _columns_in(schema.names):
        values = getattr(samples, name)
        if name == "outcome":
            columns.append(pa.DictionaryArray.from_arrays(pa.array(values), _LABELS))
        else:
            columns.append(pa.array(values, mask=values == MISSING if name in NULLABLE else None))
    if TIMING in schema.names:
        columns.append(_timing_map(samples))
    return pa.record_batch(columns, schema=schema)


def _timing_map(samples: Samples) -> Any:
    """The server's figures of each row by name, without those that it does not have."""
    import pyarrow as pa

    names = np.array(list(samples.server_timing), dtype=object)
    table = np.array([*samples.server_timing.values()], dtype=np.int64).reshape(len(names), len(samples)).T
    has = table != MISSING
    ends = np.cumsum(has.sum(axis=1))
    keys = pa.array(names[np.nonzero(has)[1]], pa.string())
    return pa.MapArray.from_arrays(pa.array(np.append(0, ends), pa.int32()), keys, pa.array(table[has]))


def _samples(batch: Any) -> Samples:
    columns: dict[str, Any] = {"target": np.zeros(len(batch), dtype=np.int16)}
    for name in _columns_in(batch.schema.names):
        column = batch.column(public_name(name))
        if name == "outcome":
            numbers = np.array([_LABELS.index(label) for label in column.dictionary.to_pylist()], dtype=np.int8)
            columns[name] = numbers[column.indices.to_numpy()]
        else:
            columns[name] = column.fill_null(MISSING).to_numpy(zero_copy_only=False).astype(DTYPES[name])
    timing = _timing_columns(batch.column(TIMING)) if TIMING in batch.schema.names else {}
    return Samples(**columns, server_timing=timing)


def _without_empty_timing(samples: Samples) -> Samples:
    """The same without the names of figures that other rows of the file alone have."""
    timing = {name: column for name, column in samples.server_timing.items() if (column != MISSING).any()}
    return replace(samples, server_timing=timing)


def _timing_columns(maps: Any) -> dict[str, Ints]:
    """A column a name, of maps as `_timing_map` makes them."""
    ends = maps.offsets.to_numpy()
    rows = np.repeat(np.arange(len(maps)), np.diff(ends))
    keys = maps.keys[ends[0] : ends[-1]].dictionary_encode()
    values = maps.items[ends[0] : ends[-1]].to_numpy()
    names, numbers = keys.dictionary.to_pylist(), keys.indices.to_numpy()
    check_names(names)
    columns = {name: np.full(len(maps), MISSING, dtype=np.int64) for name in names}
    for number, column in enumerate(columns.values()):
        column[rows[numbers == number]] = values[numbers == number]
    return columns
