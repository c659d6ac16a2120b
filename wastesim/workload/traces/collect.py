"""Gather the usable rows of a trace, and the reasons of the others.

Reasons are the cell's (`output_zero`, `prompt_not_whole`, `arrival_not_a_time`, ...) or the
row's (`too_few_cells`, `malformed_json`, ...).  What is kept is three numbers a row, so two
million rows take some 50 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wastesim.workload.pairs import Floats
from wastesim.workload.traces.cells import tokens_in
from wastesim.workload.traces.clocks import (
    Clock,
    date_clock,
    epoch_unit,
    looks_like_a_date,
    number_clock,
)
from wastesim.workload.traces.columns import Columns
from wastesim.workload.traces.opening import refuse
from wastesim.workload.traces.rows import Rows

_NO_CLOCK = (
    "has no column of arrival times, so it cannot be replayed; resample its lengths with"
    " 'lengths: FILE', give arrivals with 'request_rate', or name the column with"
    " 'columns: {arrival: NAME}'"
)
Lengths = tuple[NDArray[np.int32], NDArray[np.int32], Floats | None]


class Collector:
    """Goes through the rows of one trace once."""

    def __init__(self, path: Path, rows: Rows, columns: Columns, hash_block_tokens: int) -> None:
        self.rows = 0
        self.unusable: dict[str, int] = {}
        self.first_line: dict[str, int] = {}
        self.notes: list[str] = []
        self._path, self._source, self._columns = path, rows, columns
        self._block = hash_block_tokens
        self._odd_hashes, self._first_odd = 0, 0
        self._prompt, self._output, self._time = array("i"), array("i"), array("q")

    def collect(self, arrivals: bool) -> None:
        """Read all rows; InputError when none can be used."""
        if arrivals and self._columns.arrival is None:
            refuse(self._source.where, _NO_CLOCK)
        for line, prompt, output, cells in self._lengths(self._wanted(arrivals)):
            if arrivals and not self._take_time(cells[2], line):
                continue
            self._prompt.append(prompt)
            self._output.append(output)
            if self._columns.hashes is not None:
                self._compare(cells[-1], prompt, line)
        if not self._prompt:
            self._refuse_all()
        self._note_hashes()

    def arrays(self, arrivals: bool) -> Lengths:
        """(prompts, outputs, seconds after the first arrival), by time, ties as in the file."""
        prompt = np.frombuffer(self._prompt, dtype=np.int32)
        output = np.frombuffer(self._output, dtype=np.int32)
        if not arrivals:
            return prompt, output, None
        time = np.frombuffer(self._time, dtype=np.int64)
        late = int(np.count_nonzero(time < np.maximum.accumulate(time)))
        if late:
            note = f"{late:,} rows came before an earlier row's time; rows are sorted by time"
            self.notes.append(note)
        order = np.argsort(time, kind="stable")
        return prompt[order], output[order], (time[order] - time[order[0]]) / 1e9

    def _wanted(self, arrivals: bool) -> list[str]:
        columns = self._columns
        more = (columns.arrival if arrivals else None, columns.hashes)
        return [columns.prompt, columns.output, *(name for name in more if name is not None)]

    def _lengths(self, names: list[str]) -> Iterator[tuple[int, int, int, Sequence[object]]]:
        """(line, prompt, output, cells) of every row whose lengths can be used."""
        comma = self._source.decimal_comma
        for line, cells in self._source.cells(names):
            self.rows += 1
            if isinstance(cells, str):
                self._leave_out(cells, line)
                continue
            prompt, output = tokens_in(cells[0], comma), tokens_in(cells[1], comma)
            if isinstance(prompt, str):
                self._leave_out(f"prompt_{prompt}", line)
            elif isinstance(output, str):
                self._leave_out(f"output_{output}", line)
            else:
                yield line, prompt, output, cells

    def _take_time(self, cell: object, line: int) -> bool:
        """Whether the row has a usable time."""
        if not self._time:
            self._clock = self._choose_clock(cell, line)
        time = self._clock(cell)
        if isinstance(time, str):
            self._leave_out(f"arrival_{time}", line)
            return False
        self._time.append(time)
        return True

    def _choose_clock(self, cell: object, line: int) -> Clock:
        """How to read the column of times, judged by its first usable cell."""
        unit, comma = self._columns.unit, self._source.decimal_comma
        if looks_like_a_date(cell):
            return date_clock
        if unit is not None:
            return number_clock(unit, comma)
        unit = epoch_unit(cell)
        if unit is not None:
            name = self._columns.arrival
            self.notes.append(f"'{name}' is read as time since 1970 in {unit}, by its size")
            return number_clock(unit, comma)
        if number_clock("s", comma)(cell) in _NO_TIMES:
            return date_clock  # not a number either: the row is left out, the next one decides
        return refuse(
            f"{self._path}:{line}",
            f"'{self._columns.arrival}' (here {str(cell)[:40]!r}) is no date and its name has no"
            " unit; say which with 'time_unit: s', ms, us or ns",
        )

    def _leave_out(self, reason: str, line: int) -> None:
        self.unusable[reason] = self.unusable.get(reason, 0) + 1
        self.first_line.setdefault(reason, line)

    def _compare(self, hashes: object, prompt: int, line: int) -> None:
        """Whether a row has as many `hash_ids` as its prompt has blocks."""
        if isinstance(hashes, list) and len(hashes) != -(-prompt // self._block):
            self._odd_hashes += 1
            self._first_odd = self._first_odd or line

    def _note_hashes(self) -> None:
        if self._columns.hashes is not None:
            self.notes.append("prefix sharing is not modelled: 'hash_ids' are ignored")
        if self._odd_hashes:
            self.notes.append(
                f"{self._odd_hashes:,} rows (first at line {self._first_odd}) have more or fewer"
                f" 'hash_ids' than their prompt has blocks of {self._block} tokens; if the blocks"
                " are of another size, say so with 'hash_block_tokens'"
            )

    def _refuse_all(self) -> None:
        if not self.rows:
            refuse(self._source.where, "has names of columns but no rows")
        reasons = ", ".join(
            f"{reason} {count:,} (first at line {self.first_line[reason]})"
            for reason, count in self.unusable.items()
        )
        first = min(self.first_line.values())
        refuse(f"{self._path}:{first}", f"none of {self.rows:,} rows can be used: {reasons}")


_NO_TIMES = ("missing", "not_a_time")
