"""Paged blocks as numbers: every job takes a block whenever its last one is full.

Jobs that decode are kept by the tick in which they need one, modulo the block size: in tick t all
of bucket ``t mod B`` take a block, and the same ones again B ticks later.
"""

from __future__ import annotations

import numpy as np

from wastesim.engine.leap.job import Job
from wastesim.engine.leap.pool import Preempt
from wastesim.records import Array

#: Above every number of a tick: keys are ``bucket * _TICKS + tick``.
_TICKS = 1 << 44


class BlockPool:
    """Counts of blocks of `block_cells`; what each tick took is told by `by_tick`."""

    fields: tuple[str, ...] = ("reserved",)

    def __init__(self, num_blocks: int, block_cells: int) -> None:
        self.size = block_cells
        self.num_blocks = self._free = num_blocks
        self.copied_tokens = self.double_residency_peak_cells = 0
        self._buckets: list[dict[Job, None]] = [{} for _ in range(block_cells)]
        self._counts = [0] * block_cells
        self._decoding = 0
        self._looked = (-1, 0, 0)  # blocks that so many ticks after a tick will take
        self._log = _Log(self._counts, [], 0)

    @property
    def reserved(self) -> int:
        """Cells of blocks that are held."""
        return self.taken * self.size

    def fits(self, job: Job, tokens: int, spare_cells: int = 0, *, whole: bool = False) -> bool:
        """Whether blocks are free for the next tokens, or for all known ones, which are more."""
        cells, size = job.prompt + job.generated if whole else tokens, self.size
        needed = -(-cells // size)
        if spare_cells:
            needed += -(-spare_cells // size)
        return needed <= self._free

    def admit(self, job: Job, tokens: int, tick: int, now_s: float) -> None:
        """Blocks for the next tokens."""
        size = self.size
        job.pad, job.pad_tick = -job.final % size, -1
        blocks = -(-tokens // size)
        self._free -= blocks
        job.held = blocks * size
        if job.held > job.final:
            self._pad(job, tick)

    def make_room(self, job: Job, tokens: int, tick: int, now_s: float) -> bool:
        """Blocks that are missing."""
        blocks = self.blocks(tokens)
        missing = blocks - job.held // self.size
        if missing > self._free:
            return False
        self._free -= missing
        job.held = blocks * self.size
        if job.held > job.final:
            self._pad(job, tick)
        return True

    def joined(self, jobs: list[Job], tick: int) -> None:
        """With s stored, a job needs a block in the tick that stores token s rounded up, plus 1."""
        size, log, following = self.size, self._log, tick + 1
        for job in jobs:
            final = job.final
            stored = final - (job.end - tick)
            job.bucket = bucket = (following - stored) % size
            self._buckets[bucket][job] = None
            self._counts[bucket] += 1
            log.joins.append(bucket * _TICKS + following)
            if job.pad and job.pad_tick < 0:
                last_begins = (final - 1) // size * size
                job.pad_tick = following + last_begins - stored
                log.pads.extend((job.pad_tick, job.pad))
        self._decoding += len(jobs)

    def serve(self, tick: int, now_s: float, preempt: Preempt) -> None:
        """A block for each of the bucket; the oldest first when there are not enough."""
        bucket = tick % self.size
        need = self._counts[bucket]
        if need <= self._free:
            self._free -= need
            return
        for job in list(self._buckets[bucket]):
            if job.end < 0:
                continue  # it was preempted meanwhile
            while not self._free:
                if preempt() is job:
                    return
            self._free -= 1

    def ahead(self, tick: int, most: int) -> int:
        """As long as there are blocks."""
        if most <= 0:
            return 0
        need = self._need(tick, most)
        self._looked = (tick, most, need)
        if need <= self._free:
            return most
        size, left = self.size, self._free
        rounds = left // self._decoding
        left -= rounds * self._decoding
        ticks = rounds * size
        while (need := self._counts[(tick + 1 + ticks) % size]) <= left:
            left -= need
            ticks += 1
        return ticks

    def passed(self, tick: int, ticks: int) -> None:
        """They took what they needed."""
        found_tick, found_ticks, need = self._looked
        if (tick, ticks) != (found_tick, found_ticks):
            need = self._need(tick, ticks)
        self._free -= need

    def evict(self, job: Job, tick: int, now_s: float) -> None:
        """In the tick it was to be served in, it is not."""
        stored = job.stored
        if job.end >= 0:
            stored = job.final - (job.end - tick) - 1
            del self._buckets[job.bucket][job]
            self._counts[job.bucket] -= 1
            self._decoding -= 1
            self._log.leaves.append(job.bucket * _TICKS + tick)
        self._free += self.blocks(stored)
        if job.pad_tick >= 0:
            self._log.pads.extend((max(tick, job.pad_tick), -job.pad))

    def release(self, jobs: list[Job], tick: int, now_s: float) -> None:
        """All their blocks, with the last one's padding."""
        log, buckets, counts, following = self._log, self._buckets, self._counts, tick + 1
        cells = 0
        for job in jobs:
            bucket = job.bucket
            del buckets[bucket][job]
            counts[bucket] -= 1
            log.leaves.append(bucket * _TICKS + following)
            job.held = held = job.final + job.pad
            cells += held
            if job.pad:
                log.pads.extend((following, -job.pad))
        self._decoding -= len(jobs)
        self._free += cells // self.size

    def held(self, job: Job, stored: int) -> int:
        """Blocks that it cannot do without."""
        return self.blocks(stored) * self.size

    def by_tick(self, begin: int, end: int) -> tuple[Array, Array] | None:
        """Cells that buckets took, and padding of last blocks."""
        taken, padding = self._log.read(begin, end)
        return taken * self.size, padding

    def shares(self) -> tuple[int, ...]:
        """What is held; padding is told by tick, and nothing is unused."""
        return (self.reserved,)

    def fragmentation(self) -> tuple[int, int]:
        """Any free block will do."""
        return -1, -1

    def _pad(self, job: Job, tick: int) -> None:
        """In `tick` it got its last block."""
        if job.pad_tick < 0:
            job.pad_tick = tick
            self._log.pads.extend((tick, job.pad))

    def _need(self, tick: int, ticks: int) -> int:
        """Blocks that are taken in the `ticks` after `tick`."""
        rounds, rest = divmod(ticks, self.size)
        begin = (tick + 1) % self.size
        end, counts = begin + rest, self._counts
        part = sum(counts[begin:end])
        if end > self.size:
            part += sum(counts[: end - self.size])
        return rounds * self._decoding + part

    def begin_anew(self, jobs: list[Job], tick: int) -> None:
        """Before `tick` these decode, in order of admission, and nobody else is here.

        `by_tick` has been asked for all ticks before it.
        """
        size = self.size
        self._buckets = [{} for _ in range(size)]
        taken = 0
        for job in jobs:
            job.bucket = (job.end - job.final + 1) % size
            self._buckets[job.bucket][job] = None
            taken += self.blocks(job.final - (job.end - tick + 1))
        self._counts = [len(bucket) for bucket in self._buckets]
        self._decoding = len(jobs)
        self._free = self.num_blocks - taken
        self._log = _Log(self._counts, [(job.pad_tick, job.pad) for job in jobs if job.pad], tick)

    def blocks(self, cells: int) -> int:
        """Blocks for so many cells."""
        return -(-cells // self.size)

    @property
    def taken(self) -> int:
        """Blocks that are held."""
        return self.num_blocks - self._free


class _Log:
    """Who joined and left which bucket when, and when padding came and went."""

    def __init__(self, members: list[int], pads: list[tuple[int, int]], tick: int) -> None:
        """Before `tick` buckets have so many members; the pads are theirs, past and to come."""
        self.joins: list[int] = []
        self.leaves: list[int] = []
        self.pads: list[int] = []  # a tick and an amount, one after the other
        self._members = np.array(members, dtype=np.int64)
        self._padding = 0
        for since, amount in pads:
            if since < tick:
                self._padding += amount
            else:
                self.pads.extend((since, amount))

    def read(self, begin: int, end: int) -> tuple[Array, Array]:
        """Members of each tick's bucket, and padding, over ``[begin, end)``; then forget them."""
        ticks = np.arange(begin, end)
        bucket = ticks % len(self._members)
        members = self._members[bucket]
        joins, leaves = _sorted(self.joins), _sorted(self.leaves)
        for keys, sign in ((joins, 1), (leaves, -1)):
            upto = np.searchsorted(keys, bucket * _TICKS + ticks, side="right")
            members = members + sign * (upto - np.searchsorted(keys, bucket * _TICKS))
        self.joins, self.leaves = self._settle(joins, 1, end), self._settle(leaves, -1, end)
        return members, self._read_padding(begin, end)

    def _settle(self, keys: Array, sign: int, end: int) -> list[int]:
        """Count what came before `end`; the rest is kept."""
        before = keys % _TICKS < end
        buckets = keys[before] // _TICKS
        self._members += sign * np.bincount(buckets, minlength=len(self._members))
        kept: list[int] = keys[~before].tolist()
        return kept

    def _read_padding(self, begin: int, end: int) -> Array:
        pads = np.fromiter(self.pads, np.int64, len(self.pads)).reshape(-1, 2)
        now = pads[:, 0] < end
        changes = np.zeros(end - begin, dtype=np.int64)
        np.add.at(changes, np.maximum(pads[now, 0] - begin, 0), pads[now, 1])
        padding: Array = self._padding + np.cumsum(changes)
        self._padding += int(pads[now, 1].sum())
        self.pads = pads[~now].ravel().tolist()
        return padding


def _sorted(keys: list[int]) -> Array:
    return np.sort(np.fromiter(keys, np.int64, len(keys)))
