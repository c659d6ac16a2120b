"""Ends a run at a simulated time, and passes on everything else."""

from __future__ import annotations

from wastesim.engine import Observer
from wastesim.engine.observer import Happening
from wastesim.records import RequestRow, TickRow
from wastesim.request import Request


class Until(Observer):
    """Asks for the end after the tick that reaches `until_s`; `reached` says whether it did."""

    def __init__(self, until_s: float | None, observer: Observer | None = None) -> None:
        self._until_s = until_s
        self._others = observer or Observer()
        self.reached = False

    def happened(self, what: Happening, t_s: float, request: Request, cells: int) -> None:
        """Pass on."""
        self._others.happened(what, t_s, request, cells)

    def tick(self, row: TickRow) -> None:
        """Look at the time."""
        self._others.tick(row)
        if self._until_s is not None and row.t_s + row.dt_s >= self._until_s:
            self.reached = True

    def request(self, row: RequestRow) -> None:
        """Pass on."""
        self._others.request(row)

    def should_stop(self) -> bool:
        """At the end of the window, or when somebody else wants it."""
        return self.reached or self._others.should_stop()
