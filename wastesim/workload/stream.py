"""The stream of requests: pairs of lengths and arrival times, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from wastesim.request import Request
from wastesim.workload.pairs import Floats, Pairs


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
        self.counts.clear()
        self.counts.update(self.source_counts)
        first = 0
        for pairs, times in zip(self.pairs(), self.times(), strict=False):
            size = self._size(first, len(pairs))
            self._count(pairs, size)
            yield from _requests(first, pairs, times, size)
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


def _requests(first: int, pairs: Pairs, times: Floats, size: int) -> Iterator[Request]:
    """Requests of one block, in plain Python numbers."""
    declared = pairs.max_tokens
    limits = [None] * size if declared is None else declared[:size].tolist()
    columns = zip(
        times[:size].tolist(), pairs.prompt[:size].tolist(), pairs.output[:size].tolist(),
        limits, strict=True,
    )  # fmt: skip
    for number, (time, prompt, output, limit) in enumerate(columns, start=first):
        yield Request(number, time, prompt, output, limit)
