"""A closed loop: at most so many are here at once; who is due earlier comes when another ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from wastesim.engine.leap.gate import Admitted
from wastesim.engine.leap.job import Entry
from wastesim.engine.leap.line import Line
from wastesim.records import Array, RequestRow


class _Due(NamedTuple):
    """A request that has not come: it will be let in, or refused."""

    arrival_s: float
    entry: Entry | None
    row: RequestRow | None


class ClosedLine(Line):
    """A line that is told of ends by `left`.

    Who is due and finds `limit` requests here arrives when the next one leaves, as the process in
    `engine.arrivals` has it.
    """

    def __init__(self, blocks: Iterator[Admitted], limit: int) -> None:
        self._limit = limit
        self._here = 0
        self._room_s = 0.0  # since when fewer than the limit have been here
        self._due: deque[_Due] = deque()
        self._come: deque[Entry] = deque()  # and not handed out
        self._sent_s: list[float] = []  # of whom `times` tells
        super().__init__(blocks)

    def arrive(self, now_s: float) -> None:
        """Send whoever is due, as long as there is room."""
        while self._due and self._here < self._limit:
            sent_s = max(self._due[0].arrival_s, self._room_s)
            if sent_s > now_s:
                break
            self._send(self._due.popleft(), sent_s)
            if not self._due:
                self._load()
        self._look_ahead()
        if self.head is None:
            self.head = self._following()

    def left(self, count: int, now_s: float) -> None:
        """So many have ended."""
        if self._here >= self._limit:
            self._room_s = now_s
        self._here -= count
        self._look_ahead()

    def times(self) -> tuple[int, Array]:
        """Of those that came since `forget`."""
        return self._kept_from, np.array(self._sent_s)

    def forget(self) -> None:
        """Nobody will ask again."""
        self._kept_from += len(self._sent_s)
        self._sent_s = []

    def _send(self, due: _Due, sent_s: float) -> None:
        if due.row is not None:
            self._refused.append(due.row._replace(arrival_s=sent_s))
            self.refused_s = self._refused[0].arrival_s
        if due.entry is not None:
            self._come.append((due.entry[0], sent_s, *due.entry[2:]))
            self._sent_s.append(sent_s)
            self._here += 1
            self.joined += 1
            self.waiting += 1

    def _look_ahead(self) -> None:
        """When the next one comes who is let in; that nobody knows while there is no room."""
        self.next_s = inf
        if self._here >= self._limit:
            return
        while not any(due.entry for due in self._due) and self._load():
            pass
        for due in self._due:
            if due.entry is not None:
                self.next_s = max(due.arrival_s, self._room_s)
                return

    def _next_entry(self) -> Entry:
        return self._come.popleft()

    def _load(self) -> bool:
        """One more block of those that are to come, in their order; False when there is none."""
        block = next(self._blocks, None)
        if block is None:
            return False
        if self.first_s is None:
            self.first_s = block.first_s
        rows = [(row.request_id, _Due(row.arrival_s, None, row)) for row in block.refused]
        entries = zip(*block.lists(), strict=True)
        rows += [(entry[0], _Due(entry[1], entry, None)) for entry in entries]
        self._due.extend(due for _, due in sorted(rows, key=lambda item: item[0]))
        self._look_ahead()
        return True
