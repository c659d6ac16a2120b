"""Who watches a run: nobody by default."""

from __future__ import annotations

from wastesim.records import RequestRow, TickRow


class Observer:
    """Told of every happening; also asked, between two ticks, whether to stop early."""

    def tick(self, row: TickRow) -> None:
        """A tick has been scheduled and computed."""

    def request(self, row: RequestRow) -> None:
        """A request has ended."""

    def should_stop(self) -> bool:
        """True ends the run after the current tick; what is done is kept."""
        return False
