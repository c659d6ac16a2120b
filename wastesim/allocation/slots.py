"""Equal slots, one per request: the simplest cache.

Who owns which half-open range of the pool ``[0, capacity)``, for slots of S cells::

    [i * S, (i + 1) * S)          slot i, held by one request or free; freed by `release`
    [slots * S, capacity)         the remainder: too short for a slot, free for ever
"""

from __future__ import annotations

import heapq

from wastesim.address import Placement, Span, first_overlap
from wastesim.allocation.base import PolicyBase
from wastesim.allocation.protocol import Ask, Ceiling, Growth, Holding
from wastesim.errors import AllocationError
from wastesim.units import format_count


class Slots(PolicyBase):
    """A whole slot for everybody, whatever the request will need.

    `contiguous` has slots of `max_model_len`; `divided` has `n_parallel` of them.  The lowest
    free slot is taken first, so that runs are reproducible and the memory map is easy to read.
    """

    def __init__(
        self, name: str, capacity_cells: int, slot_cells: int, most_slots: int | None = None
    ) -> None:
        self.name = name
        self.capacity_cells = capacity_cells
        self.slot_cells = slot_cells
        slots = capacity_cells // slot_cells if slot_cells else 0
        self.slots = slots if most_slots is None else min(slots, most_slots)
        self._free = list(range(self.slots))  # a heap: the lowest slot is handed out first
        self._held: dict[int, int] = {}  # request_id -> slot

    @classmethod
    def contiguous(cls, capacity_cells: int, max_model_len: int) -> Slots:
        """Slots of `max_model_len` cells: as many as there is room for."""
        return cls("contiguous", capacity_cells, max_model_len)

    @classmethod
    def divided(cls, capacity_cells: int, n_parallel: int) -> Slots:
        """`n_parallel` slots of `capacity / n_parallel` cells, as llama.cpp divides `n_ctx`."""
        return cls("divided", capacity_cells, capacity_cells // n_parallel, n_parallel)

    @property
    def free_cells(self) -> int:
        """Free slots and the remainder that is too short for one."""
        return self.capacity_cells - len(self._held) * self.slot_cells

    def fits(self, ask: Ask, tokens: int, spare_cells: int = 0) -> bool:
        """Any free slot will do: all are alike."""
        left = len(self._free) - 1
        enough = left >= 0 and left * self.slot_cells >= spare_cells
        return enough and max(ask.known_tokens, tokens) <= self.slot_cells

    def needs_at_most(self, ask: Ask, final_tokens: int) -> tuple[int, int]:
        """A slot or more; an empty pool gives one, unless it is shorter than a slot."""
        return max(self.slot_cells, final_tokens), min(self.slot_cells, self.capacity_cells)

    def place(self, ask: Ask, tokens: int) -> Holding | None:
        """The lowest free slot."""
        if ask.request_id in self._held:
            raise AllocationError(
                f"request {ask.request_id} already holds slot {self._held[ask.request_id]}"
            )
        if not self.fits(ask, tokens):
            return None
        self._held[ask.request_id] = heapq.heappop(self._free)
        return Holding.of(self.slot_cells, self.slot_cells)

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        """Nothing to do up to the slot's end; beyond it the engine has broken its word."""
        self._slot_of(request_id)
        if tokens > self.slot_cells:
            raise AllocationError(
                f"request {request_id} stores {tokens} tokens in a slot of {self.slot_cells}"
            )
        return Growth(Holding.of(self.slot_cells, self.slot_cells))

    def placement(self, request_id: int) -> Placement:
        """The slot."""
        return Placement((self._span(self._slot_of(request_id)),))

    def release(self, request_id: int) -> None:
        """Give the slot back."""
        slot = self._slot_of(request_id)
        del self._held[request_id]
        heapq.heappush(self._free, slot)

    def check(self) -> None:
        """Free and held slots are disjoint and complete."""
        spans = [self._span(slot) for slot in (*self._free, *self._held.values())]
        overlap = first_overlap(spans)
        if overlap is not None or len(spans) != self.slots:
            raise AllocationError(
                f"{len(self._free)} free and {len(self._held)} held slots do not make up"
                f" {self.slots} (first overlap: {overlap})"
            )
        if spans and max(span.stop for span in spans) > self.capacity_cells:
            raise AllocationError(f"a slot ends beyond the {self.capacity_cells} cells of the pool")

    def ceiling(self) -> Ceiling:
        """Slots in the pool."""
        reason = (
            f"memory: {format_count(self.capacity_cells)} cells hold {format_count(self.slots)}"
            f" slots of {format_count(self.slot_cells)}"
        )
        return Ceiling(self.slots, reason)

    def _span(self, slot: int) -> Span:
        return Span(slot * self.slot_cells, (slot + 1) * self.slot_cells)

    def _slot_of(self, request_id: int) -> int:
        if request_id not in self._held:
            raise AllocationError(f"request {request_id} holds no slot")
        return self._held[request_id]
