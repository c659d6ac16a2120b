"""Who has come and waits: first come first served, in blocks of columns.

A run that is overloaded has millions waiting: they stay numbers in numpy's arrays until it is
their turn.  `Line` is an open loop, where everybody comes at a time of their own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import islice
from math import inf

import numpy as np

from wastesim.engine.leap.gate import Admitted
from wastesim.engine.leap.job import Entry, Job
from wastesim.records import Array, RequestRow


class Arrivals:
    """Everybody who comes, in order; those let in are handed out as entries."""

    def __init__(self, blocks: Iterator[Admitted]) -> None:
        self._blocks = blocks
        self._ahead: deque[Admitted] = deque()  # come at least in part, handed out not at all
        self._entries: Iterator[Entry] = iter(())  # of the block that is handed out now
        self._returned: deque[Entry] = deque()  # before those
        self._times: list[float] = []  # of the block that is coming now
        self._next = 0
        self._kept: deque[Array] = deque()  # times of arrival since `forget`
        self._kept_from = 0
        self._refused: deque[RequestRow] = deque()
        self.waiting = 0
        self.joined = 0  # how many ever came
        self.first_s: float | None = None  # of everybody's arrival
        self.next_s = self.refused_s = inf
        self._load()

    def arrive(self, now_s: float) -> None:
        """Everybody with an arrival at or before `now_s` is here."""
        while self.next_s <= now_s:
            end = bisect_right(self._times, now_s, self._next)
            self.joined += end - self._next
            self.waiting += end - self._next
            self._next = end
            if end < len(self._times):
                self.next_s = self._times[end]
            else:
                self._load()

    def entries(self, count: int) -> list[Entry]:
        """The first `count` of those that wait; they wait no more."""
        self.waiting -= count
        returned = self._returned
        found = [returned.popleft() for _ in range(min(count, len(returned)))]
        found += islice(self._entries, count - len(found))
        while len(found) < count:
            self._entries = zip(*self._ahead.popleft().lists(), strict=True)
            found += islice(self._entries, count - len(found))
        return found

    def give_back(self, entries: list[Entry]) -> None:
        """They wait on, before all others."""
        self._returned.extendleft(reversed(entries))
        self.waiting += len(entries)

    def refused(self, until_s: float) -> Iterator[RequestRow]:
        """Rows of those who were not let in until then, each once."""
        while self.refused_s <= until_s and self._refused:
            yield self._refused.popleft()
            self.refused_s = self._refused[0].arrival_s if self._refused else inf

    def times(self) -> tuple[int, Array]:
        """Arrivals since `forget`, in order, and the number of the first."""
        return self._kept_from, np.concatenate([*self._kept, np.empty(0)])

    def forget(self) -> None:
        """Nobody will ask again for times of blocks that have come whole."""
        while len(self._kept) > 1:
            self._kept_from += len(self._kept.popleft())

    def _load(self) -> bool:
        """The next block in which anybody is let in; False when there is none."""
        self._times, self._next, self.next_s = [], 0, inf
        for block in self._blocks:
            if self.first_s is None:
                self.first_s = block.first_s
            self._refused.extend(block.refused)
            self.refused_s = self._refused[0].arrival_s if self._refused else inf
            if len(block.arrival_s):
                self._ahead.append(block)
                self._kept.append(block.arrival_s)
                self._times = block.arrival_s.tolist()
                self.next_s = self._times[0]
                return True
        return False


class Line(Arrivals):
    """Arrivals at the tail, preempted jobs back at the front."""

    def __init__(self, blocks: Iterator[Admitted]) -> None:
        self._back: deque[Job] = deque()
        self._fresh: Job | None = None  # who is next of those that never ran
        self.head: Job | None = None  # who is next
        super().__init__(blocks)

    def arrive(self, now_s: float) -> None:
        """Everybody with an arrival at or before `now_s` is here."""
        super().arrive(now_s)
        if self.head is None:
            self.head = self._following()

    def take(self) -> None:
        """The head leaves the line."""
        self.waiting -= 1
        if self._back:
            self._back.popleft()
        else:
            self._fresh = None
        self.head = self._following()

    def come_back(self, job: Job) -> None:
        """A preempted job comes to the front."""
        self._back.appendleft(job)
        self.waiting += 1
        self.head = job

    @property
    def returned(self) -> bool:
        """Whether somebody who was preempted waits."""
        return bool(self._back)

    def withdraw(self, count: int) -> list[Entry]:
        """The first `count` of those that wait, none of whom ever ran; they wait no more.

        Until they are given back in part or come in, there is no head.
        """
        fresh, self._fresh, self.head = self._fresh, None, None
        if fresh is not None:
            self._returned.appendleft(fresh.entry())
        return self.entries(count)

    def give_back(self, entries: list[Entry]) -> None:
        """They wait on, before all others."""
        super().give_back(entries)
        self.head = self._following()

    def rest(self) -> Iterator[Job]:
        """Everybody who waits, when the run is over."""
        while self.head is not None:
            yield self.head
            self.take()

    def _following(self) -> Job | None:
        """The first of those that wait."""
        if self._back:
            return self._back[0]
        if self._fresh is None and self.waiting:
            self._fresh = Job(self._next_entry())
        return self._fresh

    def _next_entry(self) -> Entry:
        if self._returned:
            return self._returned.popleft()
        entry = next(self._entries, None)
        if entry is None:
            self._entries = zip(*self._ahead.popleft().lists(), strict=True)
            entry = next(self._entries)
        return entry
