"""What a run leaves behind: one flat row per request, per tick and per span held.

A report is made from these alone.  Nothing vanishes: rejected and unfinished requests have rows,
and idle time has ticks that ran nothing.

A run that is too long to keep leaves its totals, from which every number follows, and a picture
of itself: ticks merged, requests sampled.

================================ ================================================================
`rows`, `facts`                  the columns of the three tables; what the run knew beforehand
`recorder`                       where the engine puts its rows
`table`                          rows of one kind while they come
`stored`                         all of them in columns, and as files
`tick_totals`, `request_totals`  what every number of a summary follows from
`stream`                         what becomes of rows that are not kept: totals, and
`thinning`, `sample`, `sketch`   ticks merged, requests drawn, quantiles from counts
`cutting`, `corrections`         the measured window; shares that are known better later
`spill`, `files`                 rows on disk as they come; CSV and Parquet
================================ ================================================================
"""

from __future__ import annotations

from wastesim.records.facts import Facts
from wastesim.records.recorder import Limits, Recorder
from wastesim.records.request_totals import OUTSIDE
from wastesim.records.rows import SHARES, Array, RequestRow, SpanRow, TickRow
from wastesim.records.spill import Spill
from wastesim.records.stored import Records, Totals
from wastesim.records.stream import Mark
from wastesim.records.tick_totals import RESERVED, TickTotals

__all__ = [
    "OUTSIDE",
    "RESERVED",
    "SHARES",
    "Array",
    "Facts",
    "Limits",
    "Mark",
    "Recorder",
    "Records",
    "RequestRow",
    "SpanRow",
    "Spill",
    "TickRow",
    "TickTotals",
    "Totals",
]
