"""Ends a run at a simulated time, and passes on everything else."""

from __future__ import annotations

import math

from wastesim.engine import Observer
from wastesim.engine.observer import Happening
from wastesim.records import RequestRow, TickRow
from wastesim.request import Request


class Until(Observer):
    """Asks for the end after the tick that reaches `until_s`; `reached` says whether it did."""

    def __init__(self, until_s: float | None, observer: Observer | None = None) -> None:
        self._others = observer or Observer()
        self.until_s = min(math.inf if until_s is None else until_s, self._others.until_s)
        self.reached = False

    @property
    def wants_ticks(self) -> bool:
        """If the others do."""
        return self._others.wants_ticks

    def happened(self, what: Happening, t_s: float, request: Request, cells: int) -> None:
        """Pass on."""
        self._others.happened(what, t_s, request, cells)

    def tick(self, row: TickRow) -> None:
        """Pass on."""
        self._others.tick(row)

    def passed(self, now_s: float, running: int, waiting: int, ended: int) -> None:
        """Look at the time."""
        self._others.passed(now_s, running, waiting, ended)
        if now_s >= self.until_s:
            self.reached = True

    def request(self, row: RequestRow) -> None:
        """Pass on."""
        self._others.request(row)

    def should_stop(self) -> bool:
        """At the end of the window, or when somebody else wants it."""
        return self.reached or self._others.should_stop()
