"""Policies that hold each request in one span: any claim, placed by fit, buddy or doubling.

Growing beyond the claim means a new, larger span and a copy: spans are units of layout, so even
a neighbour that happens to be free cannot be joined to one (see the decode's arena).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from wastesim.address import Placement, Span, first_overlap
from wastesim.allocation.base import PolicyBase
from wastesim.allocation.claims import Claim, WholeContext
from wastesim.allocation.protocol import Ask, Ceiling, Fragmentation, Growth, Holding
from wastesim.errors import AllocationError
from wastesim.units import format_count


class Space(Protocol):
    """Free memory that hands out one span at a time: `FreeSpans` or `Buddy`."""

    capacity_cells: int
    cells: int

    def usable(self) -> int:
        """The most cells that one `take` can get now."""

    def take(self, cells: int) -> Span | None:
        """A span of at least `cells`, or None."""

    def give_back(self, span: Span) -> None:
        """Free a span again."""

    def fragmentation(self) -> Fragmentation:
        """How the free memory is cut up."""

    def spans(self) -> list[Span]:
        """Free spans in address order."""


#: Nobody asks for less.
_LEAST = Ask(0, 1, 1, 1, 1)


class OneSpan(PolicyBase):
    """A claim and a space; `round_up` says how many cells a claim of so many gets."""

    def __init__(
        self,
        name: str,
        claim: Claim,
        space: Space,
        round_up: Callable[[int], int] = lambda cells: cells,
    ) -> None:
        self.name = name
        self.capacity_cells = space.capacity_cells
        self.grows = claim.grows
        self._claim = claim
        self._space = space
        self._round_up = round_up
        self._most_cells = space.usable()
        self._held: dict[int, tuple[Ask, Span, int]] = {}  # id -> what was asked, span, claim

    @property
    def free_cells(self) -> int:
        """Cells in free spans, large or small."""
        return self._space.cells

    def fits(self, ask: Ask, tokens: int, spare_cells: int = 0) -> bool:
        """Whether one free span is large enough for the claim."""
        wanted = self._round_up(self._first_claim(ask))
        return wanted <= self._space.usable() and self._space.cells - wanted >= spare_cells

    def needs_at_most(self, ask: Ask, final_tokens: int) -> tuple[int, int]:
        """The claim at the final length, against the largest span of an empty pool."""
        return self._round_up(self._claim.of(ask, final_tokens)), self._most_cells

    def place(self, ask: Ask, tokens: int) -> Holding | None:
        """A span for the claim."""
        if ask.request_id in self._held:
            raise AllocationError(f"request {ask.request_id} already holds a span")
        return self._take(ask, self._first_claim(ask))

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        """Within the span nothing moves; beyond it a larger one is taken, then the old freed."""
        ask, span, claimed = self._find(request_id)
        if tokens <= span.cells:
            claim = max(claimed, tokens)
            self._held[request_id] = (ask, span, claim)
            return Growth(Holding.of(span.cells, claim))
        holding = self._take(ask, self._claim.of(ask, tokens))
        if holding is None:
            return None
        self._space.give_back(span)
        return Growth(holding, Placement((span,)))

    def placement(self, request_id: int) -> Placement:
        """The one span."""
        return Placement((self._find(request_id)[1],))

    def release(self, request_id: int) -> None:
        """Free the span."""
        self._space.give_back(self._find(request_id)[1])
        del self._held[request_id]

    def check(self) -> None:
        """Free and held spans are disjoint and make up the pool."""
        spans = [*self._space.spans(), *(span for _, span, _ in self._held.values())]
        overlap, total = first_overlap(spans), sum(span.cells for span in spans)
        free = sum(span.cells for span in self._space.spans())
        if overlap or total != self.capacity_cells or free != self._space.cells:
            raise AllocationError(
                f"{self.name}: {total} cells in {len(spans)} spans do not make up"
                f" {self.capacity_cells}; free {free}, counted {self._space.cells};"
                f" first overlap: {overlap}"
            )

    def ceiling(self) -> Ceiling:
        """Requests of the smallest span; where not all claims are alike, lengths decide."""
        smallest = self._round_up(self._claim.of(_LEAST, 1))
        most = self.capacity_cells // smallest
        cells, span = format_count(self.capacity_cells), format_count(smallest)
        if isinstance(self._claim, WholeContext):
            return Ceiling(most, f"memory: {cells} cells hold {format_count(most)} spans of {span}")
        reason = f"memory: {cells} cells in spans of {span} or more; lengths decide how many fit"
        return Ceiling(most, reason)

    def fragmentation(self) -> Fragmentation | None:
        """A request needs one piece."""
        return self._space.fragmentation()

    def _first_claim(self, ask: Ask) -> int:
        """One span holds all known tokens, so those of later chunks are claimed at once."""
        return self._claim.of(ask, max(ask.known_tokens, ask.prompt_tokens))

    def _take(self, ask: Ask, claim: int) -> Holding | None:
        span = self._space.take(claim)
        if span is None:
            return None
        self._held[ask.request_id] = (ask, span, claim)
        return Holding.of(span.cells, claim)

    def _find(self, request_id: int) -> tuple[Ask, Span, int]:
        if request_id not in self._held:
            raise AllocationError(f"request {request_id} holds no span")
        return self._held[request_id]
