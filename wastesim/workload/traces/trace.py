"""Read a trace: every row is used, or counted with the reason why it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wastesim.config.lengths import TraceReading
from wastesim.workload.pairs import Floats
from wastesim.workload.traces.collect import Collector
from wastesim.workload.traces.columns import choose
from wastesim.workload.traces.json_rows import JsonRows
from wastesim.workload.traces.opening import first_character, open_text
from wastesim.workload.traces.rows import CsvRows, Rows


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
    #: Usable rows outside the time that was asked for.
    unasked: int = 0

    def __len__(self) -> int:
        return len(self.prompt)


def read_trace(path: Path, *, arrivals: bool | None, reading: TraceReading | None = None) -> Trace:
    """Read `path`; with `arrivals`, rows need a usable time, else times are not looked at.

    With `arrivals=None` times are read if the file has any.

    InputError when the file cannot be read, has no columns for lengths (for times, where they
    are needed), or no row that can be used.
    """
    how = reading or TraceReading()
    with open_text(path) as stream:
        rows = _rows(stream, path)
        columns = choose(rows.names, rows.where, how)
        collector = Collector(path, rows, columns, how.hash_block_tokens or 512)
        timed = columns.arrival is not None if arrivals is None else arrivals
        collector.collect(timed)
    prompt, output, arrival_s = collector.arrays(timed)
    return Trace(
        path=path,
        prompt=prompt,
        output=output,
        arrival_s=arrival_s,
        rows=collector.rows,
        unusable=collector.unusable,
        first_line=collector.first_line,
        notes=tuple(collector.notes),
    )


def _rows(stream: IO[str], path: Path) -> Rows:
    return JsonRows(stream, path) if first_character(path) in "[{" else CsvRows(stream, path)
