"""What every allocation policy is: can it, do it, grow, release, check.

A policy owns the pool's addresses and nothing else.  It never sees the clock, the queue or the
true output length; the engine asks, and acts on the answer.  `PolicyBase` answers what most
policies answer alike; `wastesim.testing` tries a policy out.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from wastesim.address import Placement


class Ask(NamedTuple):
    """All that a policy may know of a request when it hands out memory.

    `known_tokens` are those to be computed: the prompt, and after a preemption also what had
    been generated.  `hint_tokens` is a predicted output length.
    """

    request_id: int
    prompt_tokens: int
    max_tokens: int
    hint_tokens: int | None = None
    known_tokens: int = 0


class Part(NamedTuple):
    """What a request holds in one KV group.

    Token `t` of the request is in the group's cells when ``t >= dropped_cells`` (a sliding window
    gives leading blocks back).  Of the `held_cells`, the claim reaches as far as token
    `claim_cells`; what is held beyond it is padding, added by the policy's granularity.
    """

    held_cells: int
    claim_cells: int
    dropped_cells: int = 0


class Holding(NamedTuple):
    """What a request holds: a part per KV group, and how far its tokens can go without `grow`."""

    parts: tuple[Part, ...]
    room_tokens: int

    @property
    def cells(self) -> int:
        """Cells held in all groups together."""
        return sum(part.held_cells for part in self.parts)

    @classmethod
    def of(cls, held_cells: int, claim_cells: int) -> Holding:
        """A holding in the only group, all of which can be written."""
        return cls((Part(held_cells, claim_cells),), held_cells)


class Growth(NamedTuple):
    """More cells for a request.  `copied_from` is set when its contents must move."""

    holding: Holding
    copied_from: Placement | None = None


class Ceiling(NamedTuple):
    """The largest number of requests that memory holds at once, and why."""

    requests: int
    reason: str


class Fragmentation(NamedTuple):
    """How free memory is cut up; only where a request needs one piece of it."""

    largest_free_cells: int
    free_spans: int


class Policy(Protocol):
    """The verbs.  All numbers are cells or tokens.

    `fits` and `place` take the number of tokens that are about to be stored; a policy that claims
    more at once ignores it.  `spare_cells` must stay free (the watermark).
    """

    name: str
    capacity_cells: int
    #: Whether a request may need more cells than it was placed with.
    grows: bool
    #: Whether a KV group has a window, so that `slide` gives leading cells back.
    slides: bool

    @property
    def free_cells(self) -> int:
        """Cells that no request holds."""

    def fits_whole(self, ask: Ask, spare_cells: int = 0) -> bool:
        """Whether all known tokens would fit now; takes nothing."""

    def fits(self, ask: Ask, tokens: int, spare_cells: int = 0) -> bool:
        """Whether `place` would succeed now and leave `spare_cells` free."""

    def needs_at_most(self, ask: Ask, final_tokens: int) -> tuple[int, int]:
        """(cells needed at the end, largest that an empty pool can give): it fits if <=."""

    def place(self, ask: Ask, tokens: int) -> Holding | None:
        """Cells for a request, or None when there are not enough now."""

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        """Room for `tokens` stored tokens; None when there are not enough free cells now."""

    def slide(self, request_id: int, done_tokens: int) -> Holding:
        """What is left when cells go back that no window sees after `done_tokens` tokens."""

    def placement(self, request_id: int) -> Placement:
        """Where a request's tokens are, in order (of the first group)."""

    def release(self, request_id: int) -> None:
        """Take back all cells of a request."""

    def check(self) -> None:
        """Raise AllocationError unless free and held cells are disjoint and make up the pool."""

    def ceiling(self) -> Ceiling:
        """How many requests fit at once, as far as that is known without their lengths."""

    def fragmentation(self) -> Fragmentation | None:
        """None where any free cells will do."""
