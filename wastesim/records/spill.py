"""Where rows go as they come when there are too many to keep."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from wastesim.records.corrections import FIELDS
from wastesim.records.files import Appender, Format, parquet_is_there
from wastesim.records.rows import RequestRow, SpanRow, TickRow
from wastesim.records.table import Columns


class CorrectionRow(NamedTuple):
    """To be added to three shares in the rows ``[begin, end)`` of the file of ticks."""

    begin: int
    end: int
    future: int
    unused: int
    padding: int


assert CorrectionRow._fields == FIELDS
ROW_TYPES = {
    "requests": RequestRow,
    "ticks": TickRow,
    "spans": SpanRow,
    "corrections": CorrectionRow,
}


class Spill:
    """A file per table in `folder`, begun when the first row comes."""

    def __init__(self, folder: Path, format: Format = "auto") -> None:
        self.folder = folder
        self._suffix = suffix_of(format)
        self._tables: dict[str, Appender] = {}

    def add(self, table: str, columns: Columns) -> None:
        """More rows of a table."""
        if table not in self._tables:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{table}.{self._suffix}"
            self._tables[table] = Appender(path, ROW_TYPES[table])
        self._tables[table].add(columns)

    def close(self) -> list[Path]:
        """Write what is left; the files by name."""
        for appender in self._tables.values():
            appender.close()
        return sorted(appender.path for appender in self._tables.values())


def suffix_of(format: Format) -> str:
    """How names of files end; Parquet is usual where it can be written."""
    return "parquet" if format == "parquet" or (format == "auto" and parquet_is_there()) else "csv"
