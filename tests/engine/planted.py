"""Allocators with one bug each, as foreign policies: what the kit and the decode must catch."""

from __future__ import annotations

from typing import Any

from wastesim.address import Placement, Span
from wastesim.allocation import Growth, Holding, Pool
from wastesim.allocation.blocks import Blocks
from wastesim.allocation.claims import Doubling, KnownOnly
from wastesim.allocation.freelist import FreeSpans, first_fit
from wastesim.allocation.slots import Slots
from wastesim.allocation.spans import OneSpan


class RightBlocks(Blocks):
    """No bug: the others differ from it in one method."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("planted", KnownOnly(pool.max_model_len), pool.capacity_cells,
                         pool.block_cells, pool.max_model_len)  # fmt: skip


class RightSpans(OneSpan):
    """No bug: buffers that double."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("planted", Doubling(pool.max_model_len, 8),
                         FreeSpans(pool.capacity_cells, first_fit))  # fmt: skip


class Overlap(RightBlocks):
    """A block taken for growth stays in the queue and is handed out again."""

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        growth = super().grow(request_id, tokens)
        if growth is not None:
            self._free.append(self._held[request_id].tables[0].blocks[-1])
        return growth


class EarlyFree(RightBlocks):
    """The first block is freed when the second is full."""

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        growth, entry = super().grow(request_id, tokens), self._held[request_id]
        if growth is not None and len(entry.tables[0].blocks) == 3:
            self._free.appendleft(entry.tables[0].blocks[0])
        return growth


class WrongGrowth(RightBlocks):
    """Growth is promised and the block is not added to what the decode sees."""

    def placement(self, request_id: int) -> Placement:
        admitted = self._blocks(self._find(request_id).ask.known_tokens)
        return Placement(super().placement(request_id).spans[:admitted])


class StaleTable(RightBlocks):
    """A request that comes back after a preemption is sent to the blocks that it had before."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._first: dict[int, Placement] = {}

    def placement(self, request_id: int) -> Placement:
        spans = super().placement(request_id).spans
        old = self._first.setdefault(request_id, Placement(spans)).spans
        return Placement((*old, *spans[len(old) :]))


class OffByOne(RightBlocks):
    """A new block is asked for one token too late: at the edge two tokens share a cell's place."""

    def _holding(self, request_id: int) -> Holding:
        holding = super()._holding(request_id)
        return holding._replace(room_tokens=holding.room_tokens + 1)


class ShiftedEdge(RightBlocks):
    """Every other block begins and ends a cell too late: in its neighbour's first cell."""

    def placement(self, request_id: int) -> Placement:
        last, size = self.num_blocks - 1, self.block_cells
        spans = super().placement(request_id).spans
        late = [span.start // size % 2 if span.start // size < last else 0 for span in spans]
        pairs = zip(spans, late, strict=True)
        return Placement(tuple(Span(span.start + one, span.stop + one) for span, one in pairs))


class NotCopied(RightSpans):
    """A buffer moves and nobody is told to copy it."""

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        growth = super().grow(request_id, tokens)
        return None if growth is None else Growth(growth.holding, None)


class HalfFree(RightSpans):
    """Half of a buffer that has just grown is handed out to others."""

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        growth = super().grow(request_id, tokens)
        if growth is not None and growth.copied_from is not None:
            start, stop = self._held[request_id][1]
            self._space.give_back(Span(start, (start + stop) // 2))
        return growth


class TwoOwners(Slots):
    """The lowest slot is always taken to be free."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("planted", pool.capacity_cells, pool.max_model_len)

    def placement(self, request_id: int) -> Placement:
        return Placement((self._span(min(self._slot_of(request_id), 1)),))


BUGS: tuple[type[Any], ...] = (
    Overlap, EarlyFree, WrongGrowth, StaleTable, OffByOne, ShiftedEdge, NotCopied, HalfFree,
    TwoOwners,
)  # fmt: skip
