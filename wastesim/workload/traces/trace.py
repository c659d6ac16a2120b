"""Read a trace: every row is used, or counted with the reason why it is not.

Reasons are the cell's (`output_zero`, `prompt_not_whole`, `arrival_not_a_time`, ...) or the
row's (`too_few_cells`, ...).  What is kept is three numbers a row, so two million rows take
some 50 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wastesim.config.lengths import TimeUnit, TraceColumns
from wastesim.workload.pairs import Floats
from wastesim.workload.traces.cells import tokens_in
from wastesim.workload.traces.clocks import (
    Clock,
    date_clock,
    epoch_unit,
    looks_like_a_date,
    number_clock,
)
from wastesim.workload.traces.columns import Columns, choose
from wastesim.workload.traces.opening import open_text, refuse
from wastesim.workload.traces.rows import CsvRows, Row, Rows


@dataclass(frozen=True, eq=False)
class Trace:
    """The usable rows of a file, in order of arrival (of the file, without arrivals).

    Lengths are in tokens; `arrival_s` is in seconds after the first arrival, None when the file
    has no clock or it was not asked for.  `rows` counts all rows, `unusable` those left out by
    reason, `first_line` where each reason was met first.
    """

    path: Path
    prompt: NDArray[np.int32]
    output: NDArray[np.int32]
    arrival_s: Floats | None
    rows: int
    unusable: Mapping[str, int] = field(default_factory=dict)
    first_line: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.prompt)


def read_trace(
    path: Path,
    *,
    arrivals: bool,
    columns: TraceColumns | None = None,
    time_unit: TimeUnit | None = None,
) -> Trace:
    """Read `path`; with `arrivals`, rows need a usable time, else times are not looked at.

    InputError when the file cannot be read, has no columns for lengths (for times, where they
    are needed), or no row that can be used.
    """
    with open_text(path) as stream:
        rows: Rows = CsvRows(stream, path)
        chosen = choose(rows.names, rows.where, columns, time_unit)
        collector = _Collector(path, rows, chosen, arrivals)
        collector.collect()
    return collector.trace()


class _Collector:
    """Gathers usable rows, and the reasons of the others."""

    def __init__(self, path: Path, rows: Rows, columns: Columns, arrivals: bool) -> None:
        self._path, self._rows, self._columns, self._arrivals = path, rows, columns, arrivals
        self._prompt, self._output, self._time = array("i"), array("i"), array("q")
        self._count = 0
        self._unusable: dict[str, int] = {}
        self._first_line: dict[str, int] = {}
        self._notes: list[str] = []

    def collect(self) -> None:
        """Go through all rows once."""
        if self._arrivals:
            self._with_times()
        else:
            self._without_times()

    def _without_times(self) -> None:
        for _, prompt, output, _ in self._lengths([self._columns.prompt, self._columns.output]):
            self._prompt.append(prompt)
            self._output.append(output)

    def _with_times(self) -> None:
        if self._columns.arrival is None:
            refuse(self._rows.where, _NO_CLOCK)
        names = [self._columns.prompt, self._columns.output, self._columns.arrival]
        clock: Clock | None = None
        for line, prompt, output, cells in self._lengths(names):
            clock = clock or self._clock(cells[2], line)
            time = clock(cells[2])
            if isinstance(time, str):
                self._leave_out(f"arrival_{time}", line)
                continue
            self._prompt.append(prompt)
            self._output.append(output)
            self._time.append(time)

    def _lengths(self, names: Sequence[str]) -> Iterator[tuple[int, int, int, Sequence[object]]]:
        """(line, prompt, output, cells) of every row whose lengths can be used."""
        comma = self._rows.decimal_comma
        row: Row
        for row in self._rows.cells(names):
            self._count += 1
            line, cells = row
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

    def _leave_out(self, reason: str, line: int) -> None:
        self._unusable[reason] = self._unusable.get(reason, 0) + 1
        self._first_line.setdefault(reason, line)

    def _clock(self, cell: object, line: int) -> Clock:
        """How to read the column of times, judged by its first cell."""
        name, unit = self._columns.arrival, self._columns.unit
        if unit is not None and not looks_like_a_date(cell):
            return number_clock(unit, self._rows.decimal_comma)
        if looks_like_a_date(cell):
            return date_clock
        unit = epoch_unit(cell)
        if unit is None:
            refuse(
                f"{self._path}:{line}",
                f"'{name}' (here {str(cell)[:40]!r}) is no date and its name has no unit;"
                " say which with 'time_unit: s', ms, us or ns",
            )
        self._notes.append(f"'{name}' is read as time since 1970 in {unit}, by its size")
        return number_clock(unit, self._rows.decimal_comma)

    def trace(self) -> Trace:
        """What was gathered; InputError when nothing was."""
        if not self._prompt:
            self._refuse_all()
        prompt = np.frombuffer(self._prompt, dtype=np.int32)
        output = np.frombuffer(self._output, dtype=np.int32)
        arrival: Floats | None = None
        if self._arrivals:
            time = np.frombuffer(self._time, dtype=np.int64)
            order, notes = _order(time)
            self._notes += notes
            prompt, output, time = prompt[order], output[order], time[order]
            arrival = (time - time[0]) / 1e9
        return Trace(
            self._path, prompt, output, arrival, self._count,
            self._unusable, self._first_line, tuple(self._notes),
        )  # fmt: skip

    def _refuse_all(self) -> None:
        if not self._count:
            refuse(self._rows.where, "has names of columns but no rows")
        reasons = ", ".join(
            f"{reason} {count:,} (first at line {self._first_line[reason]})"
            for reason, count in self._unusable.items()
        )
        first = min(self._first_line.values())
        refuse(f"{self._path}:{first}", f"none of {self._count:,} rows can be used: {reasons}")


_NO_CLOCK = (
    "has no column of arrival times, so it cannot be replayed; resample its lengths with"
    " 'lengths: FILE', give arrivals with 'request_rate', or name the column with"
    " 'columns: {arrival: NAME}'"
)


def _order(time: NDArray[np.int64]) -> tuple[NDArray[np.intp], list[str]]:
    """Rows by time, ties as in the file, and a note when the file had another order."""
    late = int(np.count_nonzero(time < np.maximum.accumulate(time)))
    note = f"{late:,} rows came before an earlier row's time; rows are sorted by time"
    return np.argsort(time, kind="stable"), [note] if late else []
