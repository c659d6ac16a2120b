"""Rows of one kind while they come, packed into columns so that a million of them stay small."""

from __future__ import annotations

from collections.abc import Mapping
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


class Table:
    """Takes single rows and whole columns in any order; gives columns back."""

    def __init__(self, row_type: Any) -> None:
        self.types = column_types(row_type)
        self.length = 0
        self._rows: list[Any] = []  # not packed yet
        self._open = self._empty(CHUNK)  # the chunk being filled
        self._filled = 0
        self._chunks: list[Columns] = []

    def append(self, row: Any) -> None:
        """One row."""
        self._rows.append(row)
        self.length += 1
        if len(self._rows) == CHUNK:
            self._pack()

    def extend(self, columns: Mapping[str, Array]) -> None:
        """Many rows at once, in columns of equal length."""
        self._pack()
        rows = len(next(iter(columns.values())))
        self.length += rows
        self._fill(columns, rows)

    def arrays(self) -> Columns:
        """Columns by name."""
        self._pack()
        rest = {name: values[: self._filled] for name, values in self._open.items()}
        chunks = [*self._chunks, rest]
        return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in self.types}

    def _pack(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            columns = zip(*rows, strict=True)
            packed = {
                name: np.array(values, dtype=kind)
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
                self._open, self._filled = self._empty(CHUNK), 0

    def _empty(self, rows: int) -> Columns:
        return {name: np.empty(rows, dtype=kind) for name, kind in self.types.items()}
