"""Any policy, asked about every request; a job that outgrows its room is served at that tick."""

from __future__ import annotations

import heapq

from wastesim.allocation import Growth, Holding, Policy
from wastesim.engine.leap.job import Job
from wastesim.engine.leap.pool import Preempt
from wastesim.engine.promises import not_grown, not_placed
from wastesim.engine.spanlog import SpanLog
from wastesim.records import Array

_FAR = 1 << 60


class PlacedPool:
    """A policy and the shares of what it gave out."""

    fields: tuple[str, ...] = ("reserved", "unused", "padding", "largest_free", "free_spans")

    def __init__(self, policy: Policy, spans: SpanLog) -> None:
        self.policy = policy
        self._spans = spans
        self.reserved = self.unused = self.padding = 0
        self.copied_tokens = 0
        self.double_residency_peak_cells = 0
        self._due: dict[int, list[Job]] = {}  # by the tick in which they must grow
        self._ticks: list[int] = []  # a heap of those

    def fits(self, job: Job, tokens: int, spare_cells: int = 0, *, whole: bool = False) -> bool:
        """The policy's answer."""
        ask, policy = job.ask(), self.policy
        if whole and not policy.fits_whole(ask, spare_cells):
            return False
        return policy.fits(ask, tokens, spare_cells)

    def admit(self, job: Job, tokens: int, tick: int, now_s: float) -> None:
        """Place it."""
        holding = self.policy.place(job.ask(), tokens)
        if holding is None:
            raise not_placed(self.policy, job.request_id, tokens)
        self._hold(job, holding)
        if self._spans.active:
            placement = self.policy.placement(job.request_id)
            self._spans.begin(job.request_id, placement, now_s)

    def make_room(self, job: Job, tokens: int, tick: int, now_s: float) -> bool:
        """Grow if it must."""
        if tokens <= job.room:
            return True
        growth = self.policy.grow(job.request_id, tokens)
        if growth is None:
            return False
        if growth.holding.room_tokens < tokens:
            raise not_grown(self.policy, job.request_id, tokens, growth.holding.room_tokens)
        self._grow(job, growth, tokens, now_s)
        return True

    def joined(self, jobs: list[Job], tick: int) -> None:
        """After this tick each has stored ``final - (end - tick)``: when is its room full?"""
        for job in jobs:
            self._expect(job, tick + 1 + job.room - (job.final - job.end + tick))

    def serve(self, tick: int, now_s: float, preempt: Preempt) -> None:
        """Whose room is full grows, the oldest first."""
        if not self._ticks or self._ticks[0] > tick:
            return
        heapq.heappop(self._ticks)
        due = sorted(self._due.pop(tick), key=lambda job: job.order)
        for job in due:
            if job.end < 0:
                continue  # it was preempted meanwhile
            tokens = job.final - (job.end - tick)
            while not self.make_room(job, tokens, tick, now_s):
                if preempt() is job:
                    return
            self._expect(job, tick + 1 + job.room - tokens)

    def ahead(self, tick: int, most: int) -> int:
        """Up to the next job whose room is full."""
        while self._ticks and not self._due[self._ticks[0]]:
            del self._due[heapq.heappop(self._ticks)]
        return min(most, self._ticks[0] - tick - 1) if self._ticks else most

    def passed(self, tick: int, ticks: int) -> None:
        """Nobody got anything."""

    def evict(self, job: Job, tick: int, now_s: float) -> None:
        """Back to the policy; it grows no more."""
        for waiting in self._due.values() if job.end >= 0 else ():
            if job in waiting:
                waiting.remove(job)
        self.release([job], tick, now_s)

    def release(self, jobs: list[Job], tick: int, now_s: float) -> None:
        """Back to the policy."""
        for job in jobs:
            self.reserved -= job.held
            self.unused -= job.unused
            self.padding -= job.padding
            self._spans.end(job.request_id, now_s)
            self.policy.release(job.request_id)

    def held(self, job: Job, stored: int) -> int:
        """What the policy gave it."""
        return job.held

    def by_tick(self, begin: int, end: int) -> tuple[Array, Array] | None:
        """Nothing changes between two stretches."""
        return None

    def shares(self) -> tuple[int, ...]:
        """All of `fields`."""
        return (self.reserved, self.unused, self.padding, *self.fragmentation())

    def fragmentation(self) -> tuple[int, int]:
        """The policy's answer."""
        return self.policy.fragmentation() or (-1, -1)

    def _expect(self, job: Job, tick: int) -> None:
        """It must grow in `tick`, unless it ends before."""
        if tick > job.end:
            return
        due = self._due.get(tick)
        if due is None:
            self._due[tick] = due = []
            heapq.heappush(self._ticks, tick)
        due.append(job)

    def _hold(self, job: Job, holding: Holding) -> None:
        """As `ledger.split` divides it."""
        ((held, claim, _),) = holding.parts
        used = min(job.final, held)
        job.held, job.room = held, holding.room_tokens
        job.unused = max(0, min(claim, held) - used)
        job.padding = held - used - job.unused
        self.reserved += held
        self.unused += job.unused
        self.padding += job.padding

    def _grow(self, job: Job, growth: Growth, tokens: int, now_s: float) -> None:
        both_cells = self.reserved + growth.holding.cells
        self.reserved -= job.held
        self.unused -= job.unused
        self.padding -= job.padding
        self._hold(job, growth.holding)
        if growth.copied_from is not None:
            self.copied_tokens += job.stored if job.end < 0 else tokens - 1
            self.double_residency_peak_cells = max(self.double_residency_peak_cells, both_cells)
        if not self._spans.active:
            return
        placement = self.policy.placement(job.request_id)
        if growth.copied_from is None:
            self._spans.extend(job.request_id, placement, now_s)
        else:
            self._spans.end(job.request_id, now_s)
            self._spans.begin(job.request_id, placement, now_s)
