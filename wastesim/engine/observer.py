"""Who watches a run: nobody by default."""

from __future__ import annotations

import math
from typing import Literal

from wastesim.records import RequestRow, TickRow
from wastesim.request import Request

#: What happens to a request before it ends.
Happening = Literal["arrived", "admitted", "first_token", "preempted"]


class Observer:
    """Told of every happening; also asked, between two ticks, whether to stop early.

    Who overrides `happened`, `tick` or `request` is told of each, and the engine goes tick by
    tick.  To look at the run now and then `passed` is enough, and it can leap.
    """

    #: It will say stop after the first tick that reaches this; the engine does not leap beyond.
    until_s: float = math.inf

    @property
    def wants_ticks(self) -> bool:
        """Whether it looks at every tick, or at every request."""
        told = ("happened", "tick", "request")
        return any(getattr(type(self), name) is not getattr(Observer, name) for name in told)

    def passed(self, now_s: float, running: int, waiting: int, ended: int) -> None:
        """It is `now_s`, after one or many ticks; so many requests have ended since the begin."""

    def happened(self, what: Happening, t_s: float, request: Request, cells: int) -> None:
        """A request came, or went on; `cells` are those it holds now."""

    def tick(self, row: TickRow) -> None:
        """A tick has been scheduled and computed."""

    def request(self, row: RequestRow) -> None:
        """A request has ended."""

    def should_stop(self) -> bool:
        """True ends the run after the current tick; what is done is kept."""
        return False
