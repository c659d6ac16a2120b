"""What rules and engine ask of memory under jobs that decode together.

`PlacedPool` asks a policy about every request and knows addresses.  `BlockPool` counts: where
every request takes one block whenever its last one is full, nothing else matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from wastesim.engine.leap.job import Job
from wastesim.records import Array

#: Preempts the newest job and returns it.
Preempt = Callable[[], Job]


class LeapPool(Protocol):
    """Amounts are cells; `tick` is a tick's number, `ticks` are how many."""

    #: What `shares` says, in the names of `tables.STRETCH`; all else is nothing to it.
    fields: tuple[str, ...]
    copied_tokens: int
    double_residency_peak_cells: int

    @property
    def reserved(self) -> int:
        """Cells held, whatever for."""

    def fits(self, job: Job, tokens: int, spare_cells: int = 0, *, whole: bool = False) -> bool:
        """As `Policy.fits`; with `whole`, as `Policy.fits_whole` too."""

    def admit(self, job: Job, tokens: int, tick: int, now_s: float) -> None:
        """Cells for a job that `fits`."""

    def make_room(self, job: Job, tokens: int, tick: int, now_s: float) -> bool:
        """Cells for so many tokens of a job that prefills; False when there are not enough."""

    def joined(self, jobs: list[Job], tick: int) -> None:
        """They decode from the tick after `tick` on, and have their `end`."""

    def serve(self, tick: int, now_s: float, preempt: Preempt) -> None:
        """Cells for all that decode in `tick`; who cannot get any preempts the newest."""

    def ahead(self, tick: int, most: int) -> int:
        """How many ticks after `tick`, up to `most`, can pass without `serve`."""

    def passed(self, tick: int, ticks: int) -> None:
        """So many ticks after `tick` have passed."""

    def evict(self, job: Job, tick: int, now_s: float) -> None:
        """In `tick` a job loses everything; `end` and `stored` are still as they were."""

    def release(self, jobs: list[Job], tick: int, now_s: float) -> None:
        """At the end of `tick` they are done."""

    def held(self, job: Job, stored: int) -> int:
        """Cells that a job with so many stored tokens holds."""

    def by_tick(self, begin: int, end: int) -> tuple[Array, Array] | None:
        """Cells given to decoding jobs, and padding, in each of the ticks ``[begin, end)``.

        None where both are the same over each stretch.
        """

    def shares(self) -> tuple[int, ...]:
        """How memory is shared out now."""

    def fragmentation(self) -> tuple[int, int]:
        """Largest free span and number of free spans; -1 where they do not matter."""
