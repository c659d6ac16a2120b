"""The buddy system: powers of two of a granule, split in halves and joined again.

Knuth, TAOCP vol. 1, 2.5.  The pool is cut into chunks of at most `largest_cells`; what is left at
its end is cut into the powers of two that fit, from large to small.
"""

from __future__ import annotations

from bisect import bisect_right

from wastesim.address import Span
from wastesim.allocation.protocol import Fragmentation
from wastesim.errors import AllocationError


class Buddy:
    """Free chunks by order: a chunk of order k has ``granule << k`` cells.

    The tail of the pool that is too short for a granule counts as free and is never handed out.
    """

    def __init__(self, capacity_cells: int, granule_cells: int, largest_cells: int) -> None:
        self.capacity_cells = capacity_cells
        self.granule_cells = granule_cells
        self.orders = max(0, (largest_cells // granule_cells).bit_length() - 1)
        self._free: list[set[int]] = [set() for _ in range(self.orders + 1)]
        self.cells = capacity_cells
        self._tops = self._cut_up()
        self._starts = [start for start, _ in self._tops]
        for start, order in self._tops:
            self._free[order].add(start)

    def usable(self) -> int:
        """Cells of the largest free chunk."""
        return max((self._size(k) for k, free in enumerate(self._free) if free), default=0)

    def round_up(self, cells: int) -> int:
        """Cells of the chunk that a request of `cells` gets."""
        return self._size(self._order_of(cells))

    def take(self, cells: int) -> Span | None:
        """The lowest chunk of the smallest order that is free, split down as far as needed."""
        wanted = self._order_of(cells)
        order = next((k for k in range(wanted, self.orders + 1) if self._free[k]), None)
        if order is None:
            return None
        start = min(self._free[order])
        self._free[order].remove(start)
        for smaller in range(order - 1, wanted - 1, -1):
            self._free[smaller].add(start + self._size(smaller))
        self.cells -= self._size(wanted)
        return Span(start, start + self._size(wanted))

    def give_back(self, span: Span) -> None:
        """Free a chunk and join it with its buddy as long as that is free."""
        start, order = span.start, self._order_of(span.cells)
        self.cells += span.cells
        top, top_order = self._chunk_of(start)
        while order < top_order:
            buddy = top + ((start - top) ^ self._size(order))
            if buddy not in self._free[order]:
                break
            self._free[order].remove(buddy)
            start, order = min(start, buddy), order + 1
        if start in self._free[order]:
            raise AllocationError(f"{span} is freed while it is free already")
        self._free[order].add(start)

    def fragmentation(self) -> Fragmentation:
        """The largest free chunk and how many there are."""
        return Fragmentation(self.usable(), sum(len(free) for free in self._free))

    def spans(self) -> list[Span]:
        """Free chunks in address order, and the tail that is too short for a granule."""
        chunks = [
            Span(start, start + self._size(order))
            for order, free in enumerate(self._free)
            for start in free
        ]
        tail = self.capacity_cells % self.granule_cells
        stump = [Span(self.capacity_cells - tail, self.capacity_cells)] if tail else []
        return sorted(chunks) + stump

    def _cut_up(self) -> list[tuple[int, int]]:
        """(start, order) of the first chunks, in address order."""
        tops: list[tuple[int, int]] = []
        start, left = 0, self.capacity_cells // self.granule_cells
        while left:
            order = min(self.orders, left.bit_length() - 1)
            tops.append((start, order))
            start, left = start + self._size(order), left - (1 << order)
        return tops

    def _chunk_of(self, start: int) -> tuple[int, int]:
        """Start and order of the chunk that `start` was cut from at the beginning."""
        return self._tops[bisect_right(self._starts, start) - 1]

    def _size(self, order: int) -> int:
        return self.granule_cells << order

    def _order_of(self, cells: int) -> int:
        granules = -(-cells // self.granule_cells)
        return max(0, (granules - 1).bit_length())
