"""Who waits and who runs."""

from __future__ import annotations

import heapq
from collections import OrderedDict
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


class FirstComeFirstServed:
    """Arrivals at the tail, preempted ones back at the front; anybody can leave at once."""

    def __init__(self) -> None:
        self._line: OrderedDict[Sequence, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self._line)

    def head(self) -> Sequence:
        """The front."""
        return next(iter(self._line))

    def pop(self) -> Sequence:
        """Take the front out."""
        return self._line.popitem(last=False)[0]

    def join(self, sequence: Sequence) -> None:
        """To the tail."""
        self._line[sequence] = None

    def come_back(self, sequence: Sequence) -> None:
        """To the front."""
        self._line[sequence] = None
        self._line.move_to_end(sequence, last=False)

    def leave(self, sequence: Sequence) -> None:
        """From wherever it is."""
        del self._line[sequence]


class ByPriority:
    """Lowest priority value first, then the earlier arrival; preempted ones by the same rule.

    Who leaves stays in the heap until it comes to the top: a hundred thousand who give up cost
    no more than their way in.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[int, float, int], Sequence]] = []
        self._here: set[Sequence] = set()

    def __len__(self) -> int:
        return len(self._here)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(sorted(self._here, key=lambda sequence: sequence.rank))

    def head(self) -> Sequence:
        """The lowest rank."""
        while self._heap[0][1] not in self._here:
            heapq.heappop(self._heap)
        return self._heap[0][1]

    def pop(self) -> Sequence:
        """Take the lowest rank out."""
        head = self.head()
        heapq.heappop(self._heap)
        self._here.remove(head)
        return head

    def join(self, sequence: Sequence) -> None:
        """To its rank's place."""
        heapq.heappush(self._heap, (sequence.rank, sequence))
        self._here.add(sequence)

    come_back = join

    def leave(self, sequence: Sequence) -> None:
        """From wherever it is, for good."""
        self._here.remove(sequence)


@dataclass
class Queues:
    """Who waits, who runs (in order of their latest admission), who is done but still holds."""

    waiting: Waiting = field(default_factory=FirstComeFirstServed)
    running: list[Sequence] = field(default_factory=list)
    lingering: list[Sequence] = field(default_factory=list)

    def empty(self) -> bool:
        """Nobody is here."""
        return not (self.waiting or self.running or self.lingering)
