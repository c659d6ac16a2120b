"""Where the engine puts its rows while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakSet

import numpy as np

from wastesim.records.corrections import apply, as_rows
from wastesim.records.facts import Facts
from wastesim.records.rows import Array, RequestRow, SpanRow, TickRow
from wastesim.records.spill import Spill
from wastesim.records.stored import Records
from wastesim.records.stream import Mark, Part, Stream, said_of
from wastesim.records.table import CHUNK, Table, empty


class Limits(NamedTuple):
    """What is kept.  Beyond it a run is streamed; `chunk` rows are then folded at once."""

    requests: int = 200_000  # 29 MB, and more pages than anybody reads
    ticks: int = 500_000  # 88 MB: with everything else well below what a run may take
    chunk: int = CHUNK


LIMITS = Limits()


class Recorder:
    """Takes rows as they come; `finish` gives them all, or what became of them.

    `part` is what will be measured of a run, `objectives` are those of goodput, `window` is the
    measured one where rows come from a run that is over, and `spill` is where rows go that are
    not kept.
    """

    def __init__(
        self,
        part: Part | None = None,
        objectives: dict[str, float | None] | None = None,
        spill: Spill | None = None,
        *,
        window: tuple[float, float] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or LIMITS
        self._wanted = (part, window, objectives, spill)
        self._stream: Stream | None = None
        self._requests = Table(RequestRow)
        self._ticks = Table(TickRow)
        self._spans = Table(SpanRow)
        self._tick_room, self._request_room = self._limits.ticks, self._limits.requests
        self._corrections: list[tuple[int, ...]] = []
        self._mark = Mark(-1)
        self._marks: WeakSet[Mark] = WeakSet()  # that somebody remembers

    @property
    def streams(self) -> bool:
        """Whether there were too many rows to keep."""
        return self._stream is not None

    @property
    def tick_rows(self) -> int:
        """Ticks recorded so far."""
        return self._ticks.length

    def request(self, row: RequestRow) -> None:
        """A request has ended, one way or another."""
        self._requests.append(row)
        if self._requests.length > self._request_room:
            self._make_room()

    def requests(self, columns: Mapping[str, Array]) -> None:
        """Many requests have ended: a column per field of RequestRow."""
        self._requests.extend(columns)
        if self._requests.length > self._request_room:
            self._make_room()

    def tick(self, row: TickRow) -> None:
        """A tick's snapshot."""
        self._ticks.append(row)
        if self._ticks.length > self._tick_room:
            self._make_room()

    def ticks(self, columns: Mapping[str, Array]) -> None:
        """Snapshots of many ticks, in order of time: a column per field of TickRow."""
        self._ticks.extend(columns)
        if self._ticks.length > self._tick_room:
            self._make_room()

    def span(self, row: SpanRow) -> None:
        """A span has been given back."""
        self._spans.append(row)

    def spans(self, columns: Mapping[str, Array]) -> None:
        """Many spans have been given back."""
        self._spans.extend(columns)

    def mark(self) -> Mark:
        """This moment, between two ticks: for `correct`."""
        if self._mark.row != self._ticks.length:
            self._mark = Mark(self._ticks.length)
            self._marks.add(self._mark)
        return self._mark

    def correct(self, begin: Mark, end: Mark, future: int, unused: int, padding: int) -> None:
        """Add to three shares in the ticks between two moments, known better now."""
        if self._stream is not None:
            self._stream.correct(begin, end, (future, unused, padding))
        else:
            self._corrections.append((begin.row, end.row, future, unused, padding))

    def finish(self, facts: Facts) -> Records:
        """Everything recorded, in columns; requests in the order of their ids."""
        if self._stream is not None:
            return self._finish_stream(self._stream, facts)
        requests = self._requests.arrays()
        order = np.argsort(requests["request_id"], kind="stable")
        requests = {name: values[order] for name, values in requests.items()}
        ticks = self._ticks.arrays()
        apply(as_rows(self._corrections), ticks)
        return Records(requests, ticks, self._spans.arrays(), facts)

    def _make_room(self) -> None:
        """Too many rows for memory: from now on they are folded, chunk by chunk."""
        if self._stream is None:
            self._stream = Stream(*self._wanted, self._marks)
            self._stream.correct_later(self._corrections)
            self._corrections = []
        self._fold(self._stream)

    def _fold(self, stream: Stream) -> None:
        """Fold ticks, then whatever else has come in numbers."""
        chunk = self._limits.chunk
        for ticks in self._ticks.drain():
            stream.ticks(ticks)
        if self._requests.length - self._requests.drained >= chunk:
            for rows in self._requests.drain():
                stream.requests(rows)
        if self._spans.length - self._spans.drained >= chunk:
            for rows in self._spans.drain():
                stream.spans(rows)
        self._tick_room = self._ticks.length + chunk
        self._request_room = self._requests.drained + chunk

    def _finish_stream(self, stream: Stream, facts: Facts) -> Records:
        self._fold(stream)
        for rows in self._requests.drain():
            stream.requests(rows)
        for rows in self._spans.drain():
            stream.spans(rows)
        stream.requests(empty(RequestRow), interrupted=facts.interrupted, last=True)
        stream.spans(empty(SpanRow), last=True)
        found = stream.finish()
        requests, ticks = stream.sample.columns(), stream.thinned.columns
        said = said_of(found, len(requests["status"]), len(ticks["t_s"]))
        facts = replace(facts, explanations=[*facts.explanations, said])
        return Records(requests, ticks, empty(SpanRow), facts, found)
