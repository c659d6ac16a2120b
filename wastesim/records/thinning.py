"""A long series of ticks in few rows: neighbours merged, integrals kept.

A merged row stands for `rows` ticks, of which `steps` ran something.  Its levels are means over
its time, so integrals between the ends of rows are exact; what is counted is added up.
`step_written` and `step_reserved` are the sums over its steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wastesim.records.rows import SHARES, Array, TickRow
from wastesim.records.table import empty
from wastesim.records.tick_totals import RESERVED

#: Rows that are kept, or half as many: ten times the windows that statistics look at, 3 MB.
MOST_ROWS = 16_384
LEVELS = (*SHARES, "running", "waiting", "stored_tokens", "scheduled")
COUNTS = ("prefill_tokens", "decode_tokens", "moved_bytes", "flop", "admitted", "preempted",
          "finished")  # fmt: skip
ADDED = ("rows", "steps", "step_written", "step_reserved")
#: Levels that are known at some ticks only, -1 elsewhere.
KNOWN_AT_TIMES = ("largest_free", "free_spans")


class Edge(NamedTuple):
    """How much lies before a tick."""

    rows: int = 0
    steps: int = 0
    seconds: float = 0.0


class Thinned:
    """Takes ticks in chunks; `columns` are those of TickRow and those of `ADDED`."""

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._stride = 1  # ticks of a row
        self.columns = _as_rows(empty(TickRow))
        self._ends_s = np.empty(0)  # seconds up to the end of each row

    def add(self, ticks: dict[str, Array]) -> None:
        """More ticks."""
        had, single, whole = self.columns, _as_rows(ticks), self._whole_rows()
        tail = {name: np.concatenate([had[name][whole:], single[name]]) for name in single}
        merged = self._regrouped(tail)
        self.columns = {n: np.concatenate([had[n][:whole], merged[n]]) for n in merged}
        while len(self.columns["rows"]) > self._most_rows:
            self._stride *= 2
            self.columns = self._regrouped(self.columns)
        self._ends_s = np.cumsum(self.columns["dt_s"])

    def correct(self, begin: Edge, end: Edge, shift: dict[str, int]) -> None:
        """Shares that are known better now, between two ticks."""
        ends_s = self._ends_s
        first = int(np.searchsorted(ends_s, begin.seconds, side="right"))
        last = int(np.searchsorted(ends_s, end.seconds, side="left")) + 1
        part, dt_s = slice(first, last), self.columns["dt_s"][first:last]
        begins_s = ends_s[part] - dt_s
        inside = np.minimum(ends_s[part], end.seconds) - np.maximum(begins_s, begin.seconds)
        weights = np.divide(inside.clip(min=0), dt_s, out=np.zeros(len(dt_s)), where=dt_s > 0)
        for name, cells in shift.items():
            self.columns[name][part] += cells * weights

    def _whole_rows(self) -> int:
        """Rows that stand for all the ticks that they can."""
        rows = self.columns["rows"]
        return len(rows) - int(len(rows) > 0 and rows[-1] < self._stride)

    def _regrouped(self, columns: dict[str, Array]) -> dict[str, Array]:
        before = np.cumsum(columns["rows"]) - columns["rows"]
        begins = np.flatnonzero(np.diff(before // self._stride, prepend=-1))
        return columns if len(begins) == len(before) else _merged(columns, begins)


def _as_rows(ticks: dict[str, Array]) -> dict[str, Array]:
    """Each tick a row of its own."""
    ran = ticks["running"] > 0
    reserved = np.sum([ticks[name] for name in RESERVED], axis=0)
    averaged = (*LEVELS, *KNOWN_AT_TIMES, "moved_bytes", "flop")  # or too large for an integer
    return {
        **{name: v.astype(np.float64) if name in averaged else v for name, v in ticks.items()},
        "rows": np.ones(len(ran), dtype=np.int64),
        "steps": ran.astype(np.int64),
        "step_written": ticks["written"] * ran,
        "step_reserved": reserved * ran,
    }


def _merged(columns: dict[str, Array], begins: Array) -> dict[str, Array]:
    last = np.append(begins[1:], len(columns["rows"])) - 1
    dt_s = columns["dt_s"]
    whole_s = np.add.reduceat(dt_s, begins)
    timeless = np.repeat(whole_s <= 0, np.diff(np.append(begins, len(dt_s))))
    weights = np.where(timeless, 1.0, dt_s)  # where no time passes, every row counts alike
    found = {
        "t_s": columns["t_s"][begins],
        "dt_s": whole_s,
        "reserved_end": columns["reserved_end"][last],
        **{name: np.add.reduceat(columns[name], begins) for name in (*COUNTS, *ADDED)},
        **{name: _means(columns[name], weights, begins) for name in LEVELS},
    }
    for name in KNOWN_AT_TIMES:
        known = weights * (columns[name] >= 0)
        found[name] = _means(columns[name], known, begins, unknown=-1.0)
    return {name: found[name] for name in columns}


def _means(values: Array, weights: Array, begins: Array, unknown: float = 0.0) -> Array:
    whole = np.add.reduceat(weights, begins)
    sums = np.add.reduceat(values * weights, begins)
    found: Array = np.divide(sums, whole, out=np.full(len(whole), unknown), where=whole > 0)
    return found
