"""Where the engine puts its rows while it runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wastesim.records.facts import Facts
from wastesim.records.rows import Array, RequestRow, SpanRow, TickRow
from wastesim.records.stored import Records
from wastesim.records.table import Table


class Recorder:
    """Takes rows as they come; `finish` gives them all."""

    def __init__(self) -> None:
        self._requests = Table(RequestRow)
        self._ticks = Table(TickRow)
        self._spans = Table(SpanRow)
        self._corrections: list[tuple[int, int, int, int, int]] = []

    @property
    def tick_rows(self) -> int:
        """Ticks recorded so far."""
        return self._ticks.length

    def request(self, row: RequestRow) -> None:
        """A request has ended, one way or another."""
        self._requests.append(row)

    def requests(self, columns: Mapping[str, Array]) -> None:
        """Many requests have ended: a column per field of RequestRow."""
        self._requests.extend(columns)

    def tick(self, row: TickRow) -> None:
        """A tick's snapshot."""
        self._ticks.append(row)

    def ticks(self, columns: Mapping[str, Array]) -> None:
        """Snapshots of many ticks, in order of time: a column per field of TickRow."""
        self._ticks.extend(columns)

    def span(self, row: SpanRow) -> None:
        """A span has been given back."""
        self._spans.append(row)

    def correct(self, begin: int, end: int, future: int, unused: int, padding: int) -> None:
        """Add to three shares in the tick rows ``[begin, end)``, known better now."""
        self._corrections.append((begin, end, future, unused, padding))

    def finish(self, facts: Facts) -> Records:
        """Everything recorded, in columns; requests in the order of their ids."""
        requests = self._requests.arrays()
        order = np.argsort(requests["request_id"], kind="stable")
        requests = {name: values[order] for name, values in requests.items()}
        ticks = self._ticks.arrays()
        for begin, end, future, unused, padding in self._corrections:
            ticks["future"][begin:end] += future
            ticks["unused"][begin:end] += unused
            ticks["padding"][begin:end] += padding
        return Records(requests, ticks, self._spans.arrays(), facts)
