"""Paged blocks: any free block will do, so nothing is stranded between requests.

Freed blocks go to the end of a queue and are handed out from its head, as in vLLM's block pool;
reuse is deterministic.  With `windows` the model has one KV group per entry (None is full
attention, a number is a sliding window) and a request has one table per group in the same pool.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from wastesim.address import Placement, Span
from wastesim.allocation.base import PolicyBase
from wastesim.allocation.claims import Claim
from wastesim.allocation.protocol import Ask, Ceiling, Growth, Holding, Part
from wastesim.catalog.groups import window_blocks
from wastesim.errors import AllocationError
from wastesim.units import format_count


@dataclass(slots=True)
class _Table:
    """One request's blocks in one group; the first `dropped` table positions were given back."""

    blocks: list[int] = field(default_factory=list)
    dropped: int = 0

    @property
    def positions(self) -> int:
        """Table positions so far, dropped ones included."""
        return self.dropped + len(self.blocks)


@dataclass(slots=True)
class _Entry:
    ask: Ask
    claim: int
    tables: list[_Table]
    spans: list[Span] = field(default_factory=list)  # of the first group, as far as asked for


class Blocks(PolicyBase):
    """Blocks of `block_cells`, taken as far as the claim or the stored tokens reach.

    `max_in_flight_tokens` is what a window group must hold beside its window while a step runs
    (`max_num_batched_tokens`, twice that when scheduling is asynchronous).
    """

    def __init__(
        self,
        name: str,
        claim: Claim,
        capacity_cells: int,
        block_cells: int,
        max_model_len: int,
        windows: tuple[int | None, ...] = (None,),
        max_in_flight_tokens: int = 0,
    ) -> None:
        self.name = name
        self.grows = claim.grows
        self.capacity_cells = capacity_cells
        self.block_cells = block_cells
        self.num_blocks = capacity_cells // block_cells
        self._claim = claim
        self._limit = max_model_len
        self._windows = windows
        self.slides = any(window is not None for window in windows)
        self._in_flight = max_in_flight_tokens
        self._free = deque(range(self.num_blocks))
        self._held: dict[int, _Entry] = {}

    @property
    def free_cells(self) -> int:
        """Free blocks, and the remainder that is too short for one."""
        tail = self.capacity_cells - self.num_blocks * self.block_cells
        return len(self._free) * self.block_cells + tail

    def fits_whole(self, ask: Ask, spare_cells: int = 0) -> bool:
        """Whether blocks for all known tokens are free, beside the spare ones."""
        tokens = min(self._target(ask, ask.known_tokens), self._limit)
        needed = sum(self._whole_need(window, tokens) for window in self._windows)
        return needed + self._blocks(spare_cells) <= len(self._free)

    def fits(self, ask: Ask, tokens: int, spare_cells: int = 0) -> bool:
        """Whether blocks for the next `tokens` are free, beside the spare ones."""
        needed = len(self._windows) * self._blocks(self._target(ask, tokens))
        return needed + self._blocks(spare_cells) <= len(self._free)

    def needs_at_most(self, ask: Ask, final_tokens: int) -> tuple[int, int]:
        """Blocks of the final length in all groups, against an empty pool; in cells."""
        tokens = min(self._target(ask, final_tokens), self._limit)
        needed = sum(self._whole_need(window, tokens) for window in self._windows)
        return needed * self.block_cells, self.num_blocks * self.block_cells

    def place(self, ask: Ask, tokens: int) -> Holding | None:
        """A table per group with blocks for the next `tokens`, or for the claim."""
        if ask.request_id in self._held:
            raise AllocationError(f"request {ask.request_id} already holds blocks")
        if not self.fits(ask, tokens):
            return None
        target = self._target(ask, tokens)
        tables = [_Table(self._take(self._blocks(target))) for _ in self._windows]
        self._held[ask.request_id] = _Entry(ask, target, tables)
        return self._holding(ask.request_id)

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        """Blocks for `tokens`, or for the next claim, appended to every table."""
        entry = self._find(request_id)
        claim = max(entry.claim, self._claim.of(entry.ask, tokens))
        missing = [max(0, self._blocks(claim) - table.positions) for table in entry.tables]
        if sum(missing) > len(self._free):
            return None
        for table, count in zip(entry.tables, missing, strict=True):
            table.blocks.extend(self._take(count))
        entry.claim = claim
        return Growth(self._holding(request_id))

    def slide(self, request_id: int, done_tokens: int) -> Holding:
        """Return leading blocks that no window still sees after `done_tokens` computed tokens."""
        entry = self._find(request_id)
        for window, table in zip(self._windows, entry.tables, strict=True):
            if window is not None:
                unseen = max(0, done_tokens - window + 1) // self.block_cells
                gone = self._drop(table, unseen - table.dropped)
                if table is entry.tables[0]:
                    del entry.spans[:gone]
        return self._holding(request_id)

    def placement(self, request_id: int) -> Placement:
        """The blocks of the first group, in the order of the request's tokens."""
        entry, size = self._find(request_id), self.block_cells
        new = entry.tables[0].blocks[len(entry.spans) :]  # since somebody asked last
        entry.spans += [Span(block * size, (block + 1) * size) for block in new]
        return Placement(tuple(entry.spans))

    def release(self, request_id: int) -> None:
        """Free all blocks, the last ones first."""
        for table in self._find(request_id).tables:
            self._free.extend(reversed(table.blocks))
        del self._held[request_id]

    def check(self) -> None:
        """Every block is in exactly one table or free."""
        held = [b for entry in self._held.values() for table in entry.tables for b in table.blocks]
        if sorted((*held, *self._free)) != list(range(self.num_blocks)):
            raise AllocationError(
                f"{self.name}: {len(held)} held and {len(self._free)} free blocks do not make up"
                f" {self.num_blocks}"
            )

    def ceiling(self) -> Ceiling:
        """A block per group is the least that a request can hold."""
        per_request = sum(self._whole_need(window, self._limit) for window in self._windows)
        sure = self.num_blocks // per_request
        blocks, limit = format_count(self.num_blocks), format_count(self._limit)
        reason = (
            f"memory: {blocks} blocks of {self.block_cells} cells; {format_count(sure)} requests"
        )
        return Ceiling(
            self.num_blocks // len(self._windows), f"{reason} of {limit} tokens are sure"
        )

    def _whole_need(self, window: int | None, tokens: int) -> int:
        """Blocks of a request with `tokens` in a group, windows at their worst."""
        if window is None:
            return self._blocks(tokens)
        worst = window_blocks(window, self.block_cells, self._limit, self._in_flight)
        return min(self._blocks(tokens), worst)

    def _target(self, ask: Ask, tokens: int) -> int:
        """Tokens to hold blocks for: those to be stored, or the claim where it reaches further."""
        whole = max(tokens, ask.known_tokens, ask.prompt_tokens)
        return self._claim.of(ask, whole if self._claim.ahead else tokens)

    def _holding(self, request_id: int) -> Holding:
        entry, size = self._held[request_id], self.block_cells
        parts = tuple(
            Part(len(table.blocks) * size, entry.claim, table.dropped * size)
            for table in entry.tables
        )
        return Holding(parts, min(table.positions for table in entry.tables) * size)

    def _blocks(self, cells: int) -> int:
        return -(-cells // self.block_cells)

    def _drop(self, table: _Table, count: int) -> int:
        """Free the leading `count` blocks that a table still has; returns how many it had."""
        dropped = table.blocks[: max(0, count)]
        self._free.extend(reversed(dropped))
        del table.blocks[: len(dropped)]
        table.dropped += len(dropped)
        return len(dropped)

    def _take(self, count: int) -> list[int]:
        return [self._free.popleft() for _ in range(count)]

    def _find(self, request_id: int) -> _Entry:
        if request_id not in self._held:
            raise AllocationError(f"request {request_id} holds no blocks")
        return self._held[request_id]
