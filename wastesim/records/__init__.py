"""What a run leaves behind: one flat row per request, per tick and per span held.

A report is made from these alone.  Nothing vanishes: rejected and unfinished requests have rows,
and idle time has ticks that ran nothing.

========== ==================================================================
`rows`     the columns of the three tables
`facts`    what the run knew beforehand
`table`    rows of one kind while they come
`recorder` where the engine puts them
`stored`   all of them in columns, and as files
========== ==================================================================
"""

from __future__ import annotations

from wastesim.records.facts import Facts
from wastesim.records.recorder import Recorder
from wastesim.records.rows import SHARES, Array, RequestRow, SpanRow, TickRow
from wastesim.records.stored import Records, read_csv, write_csv

__all__ = [
    "SHARES",
    "Array",
    "Facts",
    "Recorder",
    "Records",
    "RequestRow",
    "SpanRow",
    "TickRow",
    "read_csv",
    "write_csv",
]
