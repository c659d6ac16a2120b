"""A run that is too long to keep: totals, few merged ticks, a sample of requests, and files.

Rows come in chunks, ticks of one moment before the requests that ended at it.  With a measured
window, ticks outside are dropped at once, and a request waits until it is sure on which side of
the window's edges it ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

import numpy as np

from wastesim.records import cutting
from wastesim.records.corrections import FIELDS, SHIFTED, apply, as_rows
from wastesim.records.request_totals import RequestTotals
from wastesim.records.rows import Array, RequestRow, SpanRow
from wastesim.records.sample import Sample
from wastesim.records.sketch import ACCURACY, Sketch
from wastesim.records.spill import ROW_TYPES, Spill
from wastesim.records.table import CHUNK, Columns, empty
from wastesim.records.thinning import Edge, Thinned
from wastesim.records.tick_totals import TickTotals

#: What may be measured: from when to when, None for the end.
Part = tuple[float, float | None]


@dataclass(eq=False, slots=True, weakref_slot=True)
class Mark:
    """A moment between two ticks; `edge` is known when the ticks before it were folded."""

    row: int
    edge: Edge | None = None


@dataclass(frozen=True)
class Streamed:
    """What is known of a run whose rows were not kept."""

    ticks: TickTotals
    requests: RequestTotals
    part: Part | None
    end_s: float  # of the run, measured or not
    files: tuple[Path, ...] = ()
    accuracy: float = ACCURACY


class Stream:
    """Takes chunks of rows and forgets them."""

    def __init__(
        self,
        part: Part | None,
        window: tuple[float, float] | None,
        objectives: dict[str, float | None] | None,
        spill: Spill | None,
        marks: WeakSet[Mark],
    ) -> None:
        self._part, self._window, self._spill = part, window, spill
        self.rows = 0  # ticks folded, those outside the window too
        self._edge = Edge()
        self._ticks, self.thinned = TickTotals(), Thinned()
        self._requests, self.sample = RequestTotals(Sketch, objectives), Sample()
        self._waiting: dict[type, Columns] = {RequestRow: empty(RequestRow),
                                              SpanRow: empty(SpanRow)}  # fmt: skip
        self._corrections = as_rows([])  # of ticks to come
        self._corrected: list[tuple[int, ...]] = []  # of rows of the file of ticks
        self._marks = marks  # of ticks that are not folded yet
        self._reached = False  # the end of the window
        self._end_s = 0.0

    def correct(self, begin: Mark, end: Mark, shift: tuple[int, ...]) -> None:
        """Add to three shares between two moments."""
        if end.row > self.rows:
            self.correct_later([(max(begin.row, self.rows), end.row, *shift)])
        if begin.row < self.rows and begin.edge is not None:
            self._correct_folded(begin.edge, end.edge or self._edge, shift)

    def correct_later(self, corrections: Iterable[tuple[int, ...]]) -> None:
        """Add to three shares in ticks that are still to come, by their numbers."""
        self._corrections = np.concatenate([self._corrections, as_rows(corrections)])

    def ticks(self, ticks: Columns) -> None:
        """Fold ticks."""
        self._corrections = apply(self._corrections, ticks, self.rows)
        inside, counted = ticks, np.ones(len(ticks["t_s"]), dtype=bool)
        if self._part is not None:
            stop_s = np.inf if self._part[1] is None else self._part[1]
            self._reached |= bool((ticks["t_s"] + ticks["dt_s"] >= stop_s).any())
            counted = cutting.counts(ticks, self._part[0], stop_s)
            inside = cutting.cut(ticks, self._part[0], stop_s)
        self._pass_marks(inside, counted)
        self._end_s = float((ticks["t_s"] + ticks["dt_s"])[-1]) if len(counted) else self._end_s
        self.rows += len(counted)
        if len(inside["t_s"]):
            self._ticks.add(inside)
            self.thinned.add(inside)
            self._write("ticks", inside)

    def requests(self, rows: Columns, *, interrupted: bool = False, last: bool = False) -> None:
        """Fold requests."""
        if self._part is not None:
            begin_s, end_s = self._counted()
            moments = cutting.ended(rows := self._with_waiting(RequestRow, rows))
            sure = (moments <= end_s) | last
            self._waiting[RequestRow] = {n: v[~sure] for n, v in rows.items()}
            rows = {name: values[sure] for name, values in rows.items()}
            kept_open = interrupted and not self._reached
            rows = cutting.judged(rows, begin_s, end_s, interrupted=kept_open)
        self._requests.add(rows, self._counted() if self._part is not None else self._window)
        self.sample.add(rows)
        self._write("requests", rows)

    def spans(self, rows: Columns, *, last: bool = False) -> None:
        """Write spans: nothing else is made of them."""
        if self._part is not None:
            begin_s, end_s = self._counted()
            rows = self._with_waiting(SpanRow, rows)
            begun = (rows["from_s"] < end_s) & (end_s > begin_s)  # and ends only move on
            sure = begun | (rows["to_s"] <= begin_s) | last
            self._waiting[SpanRow] = {name: values[~sure] for name, values in rows.items()}
            rows = {name: values[sure] for name, values in rows.items()}
            inside = cutting.touched(rows, begin_s, end_s)
            rows = {name: values[inside] for name, values in rows.items()}
        self._write("spans", rows)

    def finish(self) -> Streamed:
        """Everything is folded."""
        self._write_corrected()
        for name in ("ticks", "requests", "spans"):
            self._write(name, empty(ROW_TYPES[name]))  # a table without rows is a file too
        files = self._spill.close() if self._spill is not None else []
        return Streamed(self._ticks, self._requests, self._part, self._end_s, tuple(files))

    def _counted(self) -> tuple[float, float]:
        """The measured window as far as it is known: ends only move on."""
        assert self._part is not None
        totals = self._ticks
        if totals.begin_s is None or totals.end_s is None:  # nobody ended in it so far
            return self._part[0], self._part[0]
        return totals.begin_s, totals.end_s

    def _with_waiting(self, kind: type, rows: Columns) -> Columns:
        return {n: np.concatenate([v, rows[n]]) for n, v in self._waiting[kind].items()}

    def _pass_marks(self, inside: Columns, counted: Array) -> None:
        """What lies before each marked tick of this chunk."""
        rows = np.concatenate([[0], np.cumsum(counted)])
        steps = np.concatenate([[0], np.cumsum(inside["running"] > 0)])
        seconds = np.concatenate([[0.0], np.cumsum(inside["dt_s"])])

        def edge(row: int) -> Edge:
            at = int(rows[row])
            before = self._edge
            return Edge(before.rows + at, before.steps + int(steps[at]),
                        before.seconds + float(seconds[at]))  # fmt: skip

        for mark in list(self._marks):
            if mark.row < self.rows + len(counted):
                mark.edge = edge(mark.row - self.rows)
                self._marks.discard(mark)
        self._edge = edge(len(counted))

    def _correct_folded(self, begin: Edge, end: Edge, shift: tuple[int, ...]) -> None:
        if end.rows == begin.rows:
            return
        named = dict(zip(SHIFTED, shift, strict=True))
        self._ticks.correct(
            end.rows - begin.rows, end.steps - begin.steps, end.seconds - begin.seconds, named
        )
        self.thinned.correct(begin, end, named)
        self._corrected.append((begin.rows, end.rows, *shift))
        if len(self._corrected) == CHUNK:
            self._write_corrected()

    def _write_corrected(self) -> None:
        """Corrections of rows that are in a file already have a file of their own."""
        rows, self._corrected = as_rows(self._corrected), []
        if len(rows):
            self._write("corrections", dict(zip(FIELDS, rows.T, strict=True)))

    def _write(self, table: str, rows: Columns) -> None:
        if self._spill is not None:
            self._spill.add(table, rows)


def said_of(found: Streamed, sampled: int, thinned: int) -> str:
    """What a reader of the numbers has to know, in one sentence."""
    names = ", ".join(path.name for path in found.files)
    rows = f"all rows are in {names}" if found.files else "single rows were not written"
    return (
        f"{found.requests.submitted:,} requests and {found.ticks.rows:,} ticks are more than are"
        f" kept in memory: sums, means, counts and peaks are of all of them, latency quantiles are"
        f" within {100 * found.accuracy:g} %, intervals and pictures are made from"
        f" {sampled:,} requests drawn evenly and ticks merged to {thinned:,}, and there is no map"
        f" of memory; {rows}"
    )
