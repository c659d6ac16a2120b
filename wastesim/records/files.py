"""Tables as files: CSV, or Parquet where pyarrow is; whole, or chunk by chunk as rows come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wastesim.records.rows import Array
from wastesim.records.table import Columns, column_types

Format = Literal["auto", "csv", "parquet"]
#: Rows that are written at once: enough for Parquet's row groups, 6 MB of ticks.
AT_ONCE = 32_768


def parquet_is_there() -> bool:
    """Whether the extra `parquet` is installed."""
    return find_spec("pyarrow") is not None


class Appender:
    """A file that grows by chunks; `close` writes what is left, and the file's end."""

    def __init__(self, path: Path, row_type: Any, at_once: int = AT_ONCE) -> None:
        self.path = path
        self.rows = 0
        self._row_type = row_type
        self._at_once = at_once
        self._chunks: list[Columns] = []
        self._held = 0
        self._writer: Any = None  # of Parquet

    def add(self, columns: Columns) -> None:
        """More rows."""
        rows = len(next(iter(columns.values())))
        self._chunks.append(columns)
        self._held += rows
        self.rows += rows
        if self._held >= self._at_once:
            self._write()

    def close(self) -> None:
        """Write the rest; a table without rows is a file too."""
        if self._chunks or not self.path.exists():
            self._write()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _write(self) -> None:
        empty = {n: np.empty(0, dtype=kind) for n, kind in column_types(self._row_type).items()}
        chunks = self._chunks or [empty]
        columns = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in empty}
        self._chunks, self._held = [], 0
        if self.path.suffix == ".csv":
            append_csv(self.path, columns)
        else:
            self._write_parquet(columns)

    def _write_parquet(self, columns: Columns) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.table({name: _arrow(name, values) for name, values in columns.items()})
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self.path, table.schema)
        self._writer.write_table(table)
        pa.default_memory_pool().release_unused()  # or it stays until the end


def write(path: Path, columns: Columns, row_type: Any) -> None:
    """A whole table."""
    appender = Appender(path, row_type)
    appender.add(columns)
    appender.close()


def append_csv(path: Path, columns: Columns) -> None:
    """Columns as CSV; whole floats of nullable integer columns keep their integer form."""
    import pandas as pd

    frame = pd.DataFrame(columns)
    for name in frame.columns:
        if name.endswith("_tick"):
            frame[name] = frame[name].astype("Int64")
    new = not path.exists()
    frame.to_csv(path, index=False, lineterminator="\n", mode="a", header=new)


def read(path: Path, row_type: Any, at_once: int = AT_ONCE) -> Iterator[Columns]:
    """The chunks of one of our own tables, with the types of `row_type`."""
    return (_read_csv if path.suffix == ".csv" else _read_parquet)(path, row_type, at_once)


def _read_csv(path: Path, row_type: Any, at_once: int) -> Iterator[Columns]:
    import pandas as pd

    types = column_types(row_type)
    texts = {name: str for name, kind in types.items() if kind.hasobject}
    frames = pd.read_csv(path, keep_default_na=False, na_values={}, chunksize=at_once, dtype=texts)
    for frame in frames:
        _expect_columns(path, types, frame.columns)
        yield {name: _column(frame[name], kind) for name, kind in types.items()}


def _expect_columns(path: Path, wanted: Iterable[str], found: Iterable[str]) -> None:
    """ValueError where a table is of another version, or none of ours."""
    missing = [name for name in wanted if name not in set(found)]
    if missing:
        raise ValueError(
            f"{path.name} has no column {missing[0]!r}: written by another version of wastesim, or"
            " not by it; run the experiment again"
        )


def _column(values: Any, kind: Any) -> Array:
    import pandas as pd

    if kind == np.float64:
        found: Array = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
        return found
    plain: Array = values.to_numpy(dtype=kind)
    return plain


def _read_parquet(path: Path, row_type: Any, at_once: int) -> Iterator[Columns]:
    from pyarrow import parquet

    types = column_types(row_type)
    with parquet.ParquetFile(path) as file:
        _expect_columns(path, types, file.schema_arrow.names)
        for batch in file.iter_batches(at_once, columns=list(types)):
            yield {name: _from_arrow(batch.column(name), kind) for name, kind in types.items()}


def _arrow(name: str, values: Array) -> Any:
    """Texts are texts; ticks that may be missing as integers with nulls."""
    import pyarrow as pa

    if values.dtype == object:
        return pa.array(values, type=pa.string())
    if name.endswith("_tick"):
        missing = np.isnan(values)
        return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
    return pa.array(values)


def _from_arrow(column: Any, kind: Any) -> Array:
    if kind.hasobject:
        texts: Array = np.array(column.to_pylist(), dtype=object)
        return texts
    found: Array = column.to_numpy(zero_copy_only=False).astype(kind)
    return found
