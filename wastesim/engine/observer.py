"""Who watches a run: nobody by default."""

from __future__ import annotations

from typing import Literal

from wastesim.records import RequestRow, TickRow
from wastesim.request import Request

#: What happens to a request before it ends.
Happening = Literal["arrived", "admitted", "first_token", "preempted"]


class Observer:
    """Told of every happening; also asked, between two ticks, whether to stop early."""

    def happened(self, what: Happening, t_s: float, request: Request, cells: int) -> None:
        """A request came, or went on; `cells` are those it holds now."""

    def tick(self, row: TickRow) -> None:
        """A tick has been scheduled and computed."""

    def request(self, row: RequestRow) -> None:
        """A request has ended."""

    def should_stop(self) -> bool:
        """True ends the run after the current tick; what is done is kept."""
        return False
