"""Who holds which cells, kept beside a policy that is not ours: a leak or an overlap is told when
it happens, with or without a decode.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from wastesim.address import Span
from wastesim.allocation.protocol import Holding, Policy
from wastesim.errors import AllocationError


class Accounts:
    """What the policy said of each request that holds cells."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._cells: dict[int, int] = {}
        self._spans: dict[int, tuple[Span, ...]] = {}
        self._starts: list[int] = []  # of all spans, in order
        self._at: dict[int, tuple[int, int]] = {}  # of each start, where it stops and whose it is

    def holds(self, request_id: int, holding: Holding) -> None:
        """It was placed, has grown or slid; AllocationError if that cannot be."""
        self._cells[request_id] = holding.cells
        self._free()
        if len(holding.parts) == 1:  # a placement tells of the first group only
            self._lies(request_id, holding.cells)

    def released(self, request_id: int) -> None:
        """It holds nothing any more."""
        self._cells.pop(request_id, None)
        self._leave(request_id)
        self._free()

    def _free(self) -> None:
        held = sum(self._cells.values())
        nobodys = self._policy.capacity_cells - held
        if nobodys < 0 or self._policy.free_cells != nobodys:
            raise AllocationError(
                f"requests hold {held} of {self._policy.capacity_cells} cells, but free_cells is"
                f" {self._policy.free_cells!r}, not {nobodys}: a leak, or a wrong count"
            )

    def _lies(self, request_id: int, cells: int) -> None:
        """Its spans are its own and inside the pool, and as many cells as it holds."""
        self._leave(request_id)
        placed = self._policy.placement(request_id)
        if placed.cells != cells:
            raise AllocationError(f"it holds {cells} cells, and its placement has {placed.cells}")
        for span in placed.spans:
            if not 0 <= span.start < span.stop <= self._policy.capacity_cells:
                raise AllocationError(
                    f"its cells {span.start} to {span.stop} are not in a pool of"
                    f" {self._policy.capacity_cells}"
                )
            self._take(span, request_id)
        self._spans[request_id] = placed.spans

    def _take(self, span: Span, request_id: int) -> None:
        place = bisect_left(self._starts, span.start)
        for start in self._starts[max(0, place - 1) : place + 1]:
            stop, whose = self._at[start]
            if start < span.stop and span.start < stop:
                cell = max(start, span.start)
                raise AllocationError(f"its cell {cell} is also request {whose}'s")
        insort(self._starts, span.start)
        self._at[span.start] = span.stop, request_id

    def _leave(self, request_id: int) -> None:
        for span in self._spans.pop(request_id, ()):
            del self._starts[bisect_left(self._starts, span.start)], self._at[span.start]
