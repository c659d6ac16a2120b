"""Who waits and who runs."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from wastesim.engine.sequence import Sequence


class Waiting(Protocol):
    """A queue whose head is tried first."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sequence]: ...

    def head(self) -> Sequence:
        """Who is next."""

    def pop(self) -> Sequence:
        """Take the head out."""

    def join(self, sequence: Sequence) -> None:
        """A new request comes."""

    def come_back(self, sequence: Sequence) -> None:
        """A preempted request comes again."""

    def leave(self, sequence: Sequence) -> None:
        """A request goes away unserved."""


class FirstComeFirstServed(deque[Sequence]):
    """Arrivals at the tail, preempted ones back at the front."""

    def head(self) -> Sequence:
        """The front."""
        return self[0]

    def pop(self) -> Sequence:  # type: ignore[override]  # a queue, not a stack
        """Take the front out."""
        return self.popleft()

    def join(self, sequence: Sequence) -> None:
        """To the tail."""
        self.append(sequence)

    def come_back(self, sequence: Sequence) -> None:
        """To the front."""
        self.appendleft(sequence)

    def leave(self, sequence: Sequence) -> None:
        """From wherever it is."""
        self.remove(sequence)


class ByPriority:
    """Lowest priority value first, then the earlier arrival; preempted ones by the same rule."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[int, float, int], Sequence]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Sequence]:
        return (sequence for _, sequence in sorted(self._heap, key=lambda item: item[0]))

    def head(self) -> Sequence:
        """The lowest rank."""
        return self._heap[0][1]

    def pop(self) -> Sequence:
        """Take the lowest rank out."""
        return heapq.heappop(self._heap)[1]

    def join(self, sequence: Sequence) -> None:
        """To its rank's place."""
        heapq.heappush(self._heap, (sequence.rank, sequence))

    come_back = join

    def leave(self, sequence: Sequence) -> None:
        """From wherever it is."""
        self._heap = [item for item in self._heap if item[1] is not sequence]
        heapq.heapify(self._heap)


@dataclass
class Queues:
    """Who waits, who runs (in order of their latest admission), who is done but still holds."""

    waiting: Waiting = field(default_factory=FirstComeFirstServed)
    running: list[Sequence] = field(default_factory=list)
    lingering: list[Sequence] = field(default_factory=list)

    def empty(self) -> bool:
        """Nobody is here."""
        return not (self.waiting or self.running or self.lingering)
