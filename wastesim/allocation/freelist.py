"""Free spans in address order, coalesced, and the classic rules for choosing one.

Knuth, TAOCP vol. 1, 2.5, describes the rules.  Between equal candidates the lowest address wins,
so that runs are reproducible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from wastesim.address import Span
from wastesim.allocation.protocol import Fragmentation
from wastesim.errors import AllocationError

#: (free spans in address order, cells wanted, where the last search ended) -> index or None
Rule = Callable[[list[Span], int, int], int | None]


def first_fit(free: list[Span], cells: int, last: int) -> int | None:
    """The lowest span that is large enough."""
    return next((i for i, span in enumerate(free) if span.cells >= cells), None)


def best_fit(free: list[Span], cells: int, last: int) -> int | None:
    """The smallest span that is large enough."""
    fitting = [(span.cells, i) for i, span in enumerate(free) if span.cells >= cells]
    return min(fitting)[1] if fitting else None


def worst_fit(free: list[Span], cells: int, last: int) -> int | None:
    """The largest span."""
    fitting = [(-span.cells, i) for i, span in enumerate(free) if span.cells >= cells]
    return min(fitting)[1] if fitting else None


def next_fit(free: list[Span], cells: int, last: int) -> int | None:
    """The first large enough span at or after where the last search ended, then from the start."""
    begin = bisect_left(free, (last, last))
    order = (*range(begin, len(free)), *range(begin))
    return next((i for i in order if free[i].cells >= cells), None)


RULES: dict[str, Rule] = {
    "first_fit": first_fit,
    "best_fit": best_fit,
    "next_fit": next_fit,
    "worst_fit": worst_fit,
}


class FreeSpans:
    """The free part of ``[0, capacity)``: disjoint spans, never two that touch."""

    def __init__(self, capacity_cells: int, rule: Rule) -> None:
        self.capacity_cells = capacity_cells
        self.cells = capacity_cells
        self._rule = rule
        self._free = [Span(0, capacity_cells)] if capacity_cells else []
        self._last = 0

    def largest(self) -> int:
        """Cells of the largest free span."""
        return max((span.cells for span in self._free), default=0)

    def usable(self) -> int:
        """The most cells that one `take` can get now."""
        return self.largest()

    def take(self, cells: int) -> Span | None:
        """The chosen span's lowest `cells`, or None when no span is large enough."""
        index = self._rule(self._free, cells, self._last)
        if index is None:
            return None
        start, stop = self._free[index]
        rest = Span(start + cells, stop)
        self._free[index : index + 1] = [rest] if rest.cells else []
        self.cells -= cells
        self._last = rest.start
        return Span(start, start + cells)

    def give_back(self, span: Span) -> None:
        """Free a span again and join it with free neighbours."""
        index = bisect_left(self._free, span)
        before = self._free[index - 1] if index else None
        after = self._free[index] if index < len(self._free) else None
        if (before and before.stop > span.start) or (after and after.start < span.stop):
            raise AllocationError(f"{span} is freed while {before} or {after} is free already")
        joins_before, joins_after = (
            before is not None and before.stop == span.start,
            after is not None and after.start == span.stop,
        )
        start = before.start if before and joins_before else span.start
        stop = after.stop if after and joins_after else span.stop
        self._free[index - joins_before : index + joins_after] = [Span(start, stop)]
        self.cells += span.cells

    def fragmentation(self) -> Fragmentation:
        """The largest free span and how many there are."""
        return Fragmentation(self.largest(), len(self._free))

    def spans(self) -> list[Span]:
        """Free spans in address order."""
        return list(self._free)
