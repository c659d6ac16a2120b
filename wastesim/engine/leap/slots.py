"""Equal slots as numbers: nobody ever needs more than the one it got."""

from __future__ import annotations

from wastesim.engine.leap.job import Job
from wastesim.engine.leap.pool import Preempt
from wastesim.records import Array


class SlotPool:
    """Counts of slots of `slot_cells`; as `allocation.Slots`, without addresses."""

    def __init__(self, slots: int, slot_cells: int) -> None:
        self._free = slots
        self._size = slot_cells
        self.reserved = self.unused = self.padding = 0
        self.copied_tokens = self.double_residency_peak_cells = 0

    def fits_whole(self, job: Job, spare_cells: int) -> bool:
        """Whether a slot is free for all known tokens."""
        return self.fits(job, 0, spare_cells)

    def fits(self, job: Job, tokens: int, spare_cells: int = 0) -> bool:
        """Whether a slot is free beside the spare cells, and long enough."""
        left = self._free - 1
        return left >= 0 and left * self._size >= spare_cells and job.known <= self._size

    def admit(self, job: Job, tokens: int, tick: int, now_s: float) -> None:
        """A slot, of which it will not use all."""
        self._free -= 1
        job.held = self._size
        job.unused = self._size - job.final
        self.reserved += self._size
        self.unused += job.unused

    def make_room(self, job: Job, tokens: int, tick: int, now_s: float) -> bool:
        """There is room."""
        return True

    def joined(self, job: Job, tick: int) -> None:
        """It has its slot."""

    def serve(self, tick: int, now_s: float, preempt: Preempt) -> None:
        """They have their slots."""

    def ahead(self, tick: int, most: int) -> int:
        """Memory never runs short."""
        return most

    def passed(self, tick: int, ticks: int) -> None:
        """Nobody got anything."""

    def evict(self, job: Job, tick: int, now_s: float) -> None:
        """Nobody is preempted for want of memory, but a rule may want it."""
        self.release(job, tick, now_s)

    def release(self, job: Job, tick: int, now_s: float) -> None:
        """The slot is free."""
        self._free += 1
        self.reserved -= self._size
        self.unused -= job.unused

    def held(self, job: Job, stored: int) -> int:
        """The slot."""
        return self._size

    def by_tick(self, begin: int, end: int) -> tuple[Array, Array] | None:
        """Nothing changes between two stretches."""
        return None

    def fragmentation(self) -> tuple[int, int]:
        """Any free slot will do."""
        return -1, -1
