"""Rows of delimited text, one at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Protocol

from wastesim.workload.traces.opening import refuse

#: Line number, and the wanted cells or the reason why the row has none.
Row = tuple[int, Sequence[object] | str]


class Rows(Protocol):
    """The rows of an opened trace, whatever its format."""

    #: Names of the columns, as the file has them.
    names: Sequence[str]
    #: Where the names stand, `file:line`.
    where: str
    #: Whether a comma inside a number is its decimal mark.
    decimal_comma: bool

    def cells(self, wanted: Sequence[str]) -> Iterator[Row]:
        """The cells of the `wanted` columns, row by row."""


class CsvRows:
    """Rows below a line of names; cells are parted by comma, semicolon, tab or bar."""

    def __init__(self, stream: IO[str], path: Path) -> None:
        self._stream, self._path = stream, path
        self._above, header, self._delimiter = _read_header(stream)
        names = next(csv.reader([header], delimiter=self._delimiter), [])
        self.names: Sequence[str] = [name.strip() for name in names]
        self.where = f"{path}:{self._above}"
        self.decimal_comma = self._delimiter != ","

    def cells(self, wanted: Sequence[str]) -> Iterator[Row]:
        """The wanted cells; a row of another width is not guessed at."""
        places, width = [self.names.index(name) for name in wanted], len(self.names)
        reader = csv.reader(self._stream, delimiter=self._delimiter, strict=True)
        line = self._above + 1
        try:
            for row in reader:
                if len(row) == width:
                    yield line, [row[place] for place in places]
                elif row:
                    yield line, _of_another_width(row, places, width)
                line = self._above + reader.line_num + 1
        except csv.Error as error:
            refuse(f"{self._path}:{line}", f"the row that starts here is broken: {error}")


def _read_header(stream: IO[str]) -> tuple[int, str, str]:
    """(line number, text, delimiter) of the first line that has names."""
    delimiter = None
    for number, line in enumerate(iter(stream.readline, ""), start=1):
        text = line.strip()
        if text.lower().startswith("sep=") and len(text) == 5:  # a spreadsheet's own hint
            delimiter = text[4]
        elif text:
            return number, line, delimiter or max(",;\t|", key=line.count)
    return 1, "", ","


def _of_another_width(row: Sequence[str], places: Sequence[int], width: int) -> Sequence[str] | str:
    """The cells of a row whose surplus cells are empty, else the reason not to use it."""
    if len(row) < width:
        return "too_few_cells" if any(cell.strip() for cell in row) else "empty_row"
    if any(cell.strip() for cell in row[width:]):
        return "too_many_cells"
    return [row[place] for place in places]
