"""The exact ledger: every cell of the pool belongs to one of six shares, at every tick.

``written + future + unused + padding + stranded + idle = capacity``, in integers.
"""

from __future__ import annotations

from typing import NamedTuple

from wastesim.errors import AllocationError


class Split(NamedTuple):
    """How the cells that one request holds divide."""

    written: int
    future: int
    unused: int
    padding: int

    @property
    def held(self) -> int:
        """All of them."""
        return sum(self)


class Shares(NamedTuple):
    """How the pool's cells divide."""

    written: int
    future: int
    unused: int
    padding: int
    stranded: int
    idle: int


def split(stored: int, final: int, claim: int, held: int) -> Split:
    """Divide the `held` cells of one request.

    `final` is what it will have stored at its end and `claim` what it was thought to need.
    Cells it will write are future; cells it never will are unused as far as the claim reaches
    and padding beyond.
    """
    used_in_the_end = min(final, held)
    unused = max(0, min(claim, held) - used_in_the_end)
    return Split(stored, used_in_the_end - stored, unused, held - used_in_the_end - unused)


class Ledger:
    """Running totals over every request that holds cells."""

    def __init__(self, capacity_cells: int) -> None:
        self.capacity_cells = capacity_cells
        self.written = self.future = self.unused = self.padding = 0

    @property
    def reserved(self) -> int:
        """Cells held, whatever for."""
        return self.written + self.future + self.unused + self.padding

    def add(self, part: Split) -> None:
        """A request now holds these cells."""
        self.written += part.written
        self.future += part.future
        self.unused += part.unused
        self.padding += part.padding

    def remove(self, part: Split) -> None:
        """A request no longer holds these cells."""
        self.written -= part.written
        self.future -= part.future
        self.unused -= part.unused
        self.padding -= part.padding

    def write(self, cells: int) -> None:
        """Cells held for the future have been written."""
        self.written += cells
        self.future -= cells

    def shares(self, *, short_of_memory: bool) -> Shares:
        """The six shares; free cells are stranded while memory keeps the head waiting."""
        free = self.capacity_cells - self.reserved
        if free < 0 or min(self.written, self.future, self.unused, self.padding) < 0:
            raise AllocationError(
                f"the ledger does not add up: written {self.written} + future {self.future}"
                f" + unused {self.unused} + padding {self.padding} of {self.capacity_cells} cells"
            )
        stranded, idle = (free, 0) if short_of_memory else (0, free)
        return Shares(self.written, self.future, self.unused, self.padding, stranded, idle)
