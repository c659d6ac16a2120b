"""Rows of one kind while they come, packed into columns so that a million of them stay small."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wastesim.records.rows import Array

#: Rows of a chunk: large enough for numpy, small enough to be nothing.
CHUNK = 8192
Columns = dict[str, Array]


def column_types(row_type: Any) -> dict[str, Any]:
    """numpy's type of each column: what may be None is a float, None is NaN; texts are objects."""
    kinds = {name: str(kind) for name, kind in row_type.__annotations__.items()}
    return {name: _column_type(kind) for name, kind in kinds.items()}


def _column_type(kind: str) -> Any:
    if "str" in kind:
        return np.dtype(object)
    return np.dtype(np.float64 if "float" in kind or "None" in kind else np.int64)


def empty(row_type: Any, rows: int = 0) -> Columns:
    """Columns that are not filled."""
    return {name: np.empty(rows, dtype=kind) for name, kind in column_types(row_type).items()}


class Table:
    """Takes single rows and whole columns in any order; gives columns back."""

    def __init__(self, row_type: Any) -> None:
        self.types = column_types(row_type)
        self.length = 0  # of all rows that ever came
        self.drained = 0  # of those that `drain` gave away
        self._row_type = row_type
        self._rows: list[Any] = []  # not packed yet
        self._open = empty(row_type, CHUNK)  # the chunk being filled
        self._filled = 0
        self._chunks: list[Columns] = []

    def append(self, row: Any) -> None:
        """One row."""
        self._rows.append(row)
        self.length += 1
        if len(self._rows) == CHUNK:
            self._pack()

    def extend(self, columns: Mapping[str, Array]) -> None:
        """Many rows at once, in columns of equal length, which are the table's from then on."""
        self._pack()
        rows = len(next(iter(columns.values())))
        self.length += rows
        if 2 * rows < CHUNK:
            self._fill(columns, rows)
            return
        self._close()
        self._chunks.append({name: columns[name] for name in self.types})

    def arrays(self) -> Columns:
        """Columns by name, once: what they are made of is let go on the way."""
        chunks = list(self.drain())
        return {name: np.concatenate([chunk.pop(name) for chunk in chunks]) for name in self.types}

    def drain(self) -> Iterator[Columns]:
        """Everything so far, in chunks; the table is empty then."""
        self._pack()
        self._close()
        self.drained = self.length
        while self._chunks:
            yield self._chunks.pop(0)

    def _close(self) -> None:
        """What is filled of the open chunk is a chunk of its own."""
        self._chunks.append({n: values[: self._filled].copy() for n, values in self._open.items()})
        self._filled = 0

    def _pack(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            columns = zip(*rows, strict=True)
            packed = {
                name: _packed(values, kind)
                for (name, kind), values in zip(self.types.items(), columns, strict=True)
            }
            self._fill(packed, len(rows))

    def _fill(self, columns: Mapping[str, Array], rows: int) -> None:
        done = 0
        while done < rows:
            begin = self._filled
            count = min(rows - done, CHUNK - begin)
            for name, values in self._open.items():
                values[begin : begin + count] = columns[name][done : done + count]
            done, self._filled = done + count, begin + count
            if self._filled == CHUNK:
                self._chunks.append(self._open)
                self._open, self._filled = empty(self._row_type, CHUNK), 0


def _packed(values: tuple[Any, ...], kind: Any) -> Array:
    """Texts that are equal become one."""
    return np.array([*map(sys.intern, values)] if kind.hasobject else values, dtype=kind)
