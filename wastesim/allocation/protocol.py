"""What every allocation policy is: can it, do it, grow, release, check.

A policy owns the pool's addresses and nothing else.  It never sees the clock, the queue or the
true output length; the engine asks, and acts on the answer.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from wastesim.address import Placement


class Ask(NamedTuple):
    """All that a policy may know of a request when it hands out memory."""

    request_id: int
    prompt_tokens: int
    max_tokens: int
    hint_tokens: int | None = None


class Holding(NamedTuple):
    """What a request got: its cells, and how many of them it was claimed to need.

    `placement.cells - claim_cells` is padding, added by the policy's granularity.
    """

    placement: Placement
    claim_cells: int


class Growth(NamedTuple):
    """More cells for a request.  `copied_from` is set when its contents must move."""

    holding: Holding
    copied_from: Placement | None = None


class Ceiling(NamedTuple):
    """The largest number of requests that memory holds at once, and why."""

    requests: int
    reason: str


class Policy(Protocol):
    """The verbs.  All numbers are cells.  `check` raises AllocationError with all the numbers."""

    name: str
    capacity_cells: int

    @property
    def free_cells(self) -> int:
        """Cells that no request holds."""

    def fits(self, ask: Ask) -> bool:
        """Whether `place` would succeed now."""

    def most_cells(self, ask: Ask) -> tuple[int, int]:
        """(needed, largest that an empty pool can give): needed > largest means it never fits."""

    def place(self, ask: Ask) -> Holding | None:
        """Cells for a new request, or None when there are not enough now."""

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        """Room for `tokens` stored tokens; None when there are not enough free cells now."""

    def release(self, request_id: int) -> None:
        """Take back all cells of a request."""

    def check(self) -> None:
        """Raise AllocationError unless free and held cells are disjoint and make up the pool."""

    def ceiling(self) -> Ceiling:
        """How many requests fit at once, when that is known without their lengths."""
