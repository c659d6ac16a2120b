"""The simplest cache: equal slots of `max_model_len` cells, one per request.

Who owns which half-open range of the pool ``[0, capacity)``::

    [i * L, (i + 1) * L)          slot i, held by one request or free; freed by `release`
    [slots * L, capacity)         the remainder: too short for a slot, free for ever
"""

from __future__ import annotations

import heapq

from wastesim.address import Placement, first_overlap
from wastesim.allocation.protocol import Ask, Ceiling, Growth, Holding
from wastesim.errors import AllocationError
from wastesim.units import format_count


class Contiguous:
    """Reserves `max_model_len` cells at admission, whatever the request will need.

    The lowest free slot is taken first, so that runs are reproducible and the memory map is
    easy to read.
    """

    name = "contiguous"

    def __init__(self, capacity_cells: int, max_model_len: int) -> None:
        self.capacity_cells = capacity_cells
        self.slot_cells = max_model_len
        self.slots = capacity_cells // max_model_len
        self._free = list(range(self.slots))  # a heap: the lowest slot is handed out first
        self._held: dict[int, int] = {}  # request_id -> slot

    @property
    def free_cells(self) -> int:
        """Free slots and the remainder that is too short for one."""
        return self.capacity_cells - len(self._held) * self.slot_cells

    def fits(self, ask: Ask) -> bool:
        """Any free slot will do: all are alike."""
        return bool(self._free)

    def most_cells(self, ask: Ask) -> tuple[int, int]:
        """A slot is needed, and an empty pool gives one unless it is shorter than a slot."""
        return self.slot_cells, self.slot_cells if self.slots else self.capacity_cells

    def place(self, ask: Ask) -> Holding | None:
        """The lowest free slot."""
        if ask.request_id in self._held:
            raise AllocationError(
                f"request {ask.request_id} already holds slot {self._held[ask.request_id]}"
            )
        if not self._free:
            return None
        slot = heapq.heappop(self._free)
        self._held[ask.request_id] = slot
        return Holding(Placement.single(slot * self.slot_cells, self.slot_cells), self.slot_cells)

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        """Nothing to do up to the slot's end; beyond it the engine has broken its word."""
        slot = self._slot_of(request_id)
        if tokens > self.slot_cells:
            raise AllocationError(
                f"request {request_id} stores {tokens} tokens in a slot of {self.slot_cells}"
            )
        placement = Placement.single(slot * self.slot_cells, self.slot_cells)
        return Growth(Holding(placement, self.slot_cells))

    def release(self, request_id: int) -> None:
        """Give the slot back."""
        slot = self._slot_of(request_id)
        del self._held[request_id]
        heapq.heappush(self._free, slot)

    def check(self) -> None:
        """Free and held slots are disjoint and complete."""
        spans = [
            Placement.single(slot * self.slot_cells, self.slot_cells).spans[0]
            for slot in (*self._free, *self._held.values())
        ]
        overlap = first_overlap(spans)
        if overlap is not None or len(spans) != self.slots:
            raise AllocationError(
                f"{len(self._free)} free and {len(self._held)} held slots do not make up"
                f" {self.slots} (first overlap: {overlap})"
            )
        if spans and max(span.stop for span in spans) > self.capacity_cells:
            raise AllocationError(f"a slot ends beyond the {self.capacity_cells} cells of the pool")

    def ceiling(self) -> Ceiling:
        """Slots of `max_model_len` in the pool."""
        reason = (
            f"memory: {format_count(self.capacity_cells)} cells hold {format_count(self.slots)}"
            f" slots of {format_count(self.slot_cells)}"
        )
        return Ceiling(self.slots, reason)

    def _slot_of(self, request_id: int) -> int:
        if request_id not in self._held:
            raise AllocationError(f"request {request_id} holds no slot")
        return self._held[request_id]
