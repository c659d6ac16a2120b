"""The stream of requests: pairs of lengths and arrival times, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from wastesim.request import Request
from wastesim.workload.pairs import Floats, Ints, Pairs


class Block(NamedTuple):
    """Requests in columns: ids `first`, `first + 1`, ...; `max_tokens` None: nothing declared."""

    first: int
    arrival_s: Floats
    prompt: Ints
    output: Ints
    max_tokens: Ints | None


@dataclass(eq=False)
class Workload:
    """Requests in order of arrival, the same ones each time they are asked for.

    `num_requests` is None only for sources that end by themselves.  `counts` says by reason what
    was unusable, redrawn, clipped or raised; it is final once `requests()` is exhausted.
    `notes` are sentences for the report.  `closed_loop` is how many requests are kept in flight
    when arrivals wait for completions, else None.
    """

    title: str
    pairs: Callable[[], Iterator[Pairs]]
    times: Callable[[], Iterator[Floats]]
    num_requests: int | None
    notes: list[str] = field(default_factory=list)
    closed_loop: int | None = None
    source_counts: Mapping[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counts = dict(self.source_counts)

    def requests(self) -> Iterator[Request]:
        """Requests with ids 0, 1, ...; `counts` starts afresh."""
        for block in self.blocks():
            yield from _requests(block)

    def blocks(self) -> Iterator[Block]:
        """The same requests in columns; `counts` starts afresh."""
        self.counts.clear()
        self.counts.update(self.source_counts)
        first = 0
        for pairs, times in zip(self.pairs(), self.times(), strict=False):
            size = self._size(first, len(pairs))
            self._count(pairs, size)
            limits = None if pairs.max_tokens is None else pairs.max_tokens[:size]
            yield Block(first, times[:size], pairs.prompt[:size], pairs.output[:size], limits)
            first += size
            if first == self.num_requests:
                return

    def _size(self, first: int, most: int) -> int:
        return most if self.num_requests is None else min(most, self.num_requests - first)

    def _count(self, pairs: Pairs, size: int) -> None:
        for reason, events in pairs.events.items():
            happened = int(events[:size].sum())
            if happened:
                self.counts[reason] = self.counts.get(reason, 0) + happened

    def describe(self) -> str:
        """One line: how many requests, of what."""
        many = "all requests" if self.num_requests is None else f"{self.num_requests:,} requests"
        return f"{many}: {self.title}"


def _requests(block: Block) -> Iterator[Request]:
    """Requests of one block, in plain Python numbers."""
    times, declared = block.arrival_s.tolist(), block.max_tokens
    limits = [None] * len(times) if declared is None else declared.tolist()
    columns = zip(times, block.prompt.tolist(), block.output.tolist(), limits, strict=True)
    for number, (time, prompt, output, limit) in enumerate(columns, start=block.first):
        yield Request(number, time, prompt, output, limit)
