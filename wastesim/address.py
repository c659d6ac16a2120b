"""Where a request's cells are: the one thing that allocation and decode both know.

The pool is an address space of cells ``[0, capacity)``.  A cell is one token's K and V in the
layers of one KV group.  A placement is the *ordered* list of spans that hold one request:
token ``t`` of the request lives in the ``t``-th cell of the concatenated spans.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """Half-open range of cells ``[start, stop)``."""

    start: int
    stop: int

    @property
    def cells(self) -> int:
        """Number of cells in the span."""
        return self.stop - self.start

    def overlaps(self, other: Span) -> bool:
        """Whether the two spans share a cell."""
        return self.start < other.stop and other.start < self.stop


class Placement(NamedTuple):
    """The ordered spans that hold one request.

    A span is a unit of layout (see `decode.arena`): adjacent spans are never merged.
    """

    spans: tuple[Span, ...]

    @property
    def cells(self) -> int:
        """Cells held in all spans together."""
        return sum(span.cells for span in self.spans)

    @classmethod
    def single(cls, start: int, cells: int) -> Placement:
        """The placement of a contiguous policy: one span."""
        return cls((Span(start, start + cells),))

    def address(self, token: int) -> int:
        """Cell that holds the `token`-th token; IndexError when it is beyond the placement."""
        left = token
        for span in self.spans:
            if left < span.cells:
                return span.start + left
            left -= span.cells
        raise IndexError(f"token {token} is beyond the {self.cells} cells of this placement")


def first_overlap(spans: Iterable[Span]) -> tuple[Span, Span] | None:
    """The first pair of overlapping spans in address order, or None."""
    previous: Span | None = None
    for span in sorted(spans):
        if previous is not None and span.start < previous.stop:
            return previous, span
        previous = span
    return None
