"""Requests from several workloads at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wastesim.workload.pairs import Floats, Ints, Pairs, PairSource

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, eq=False)
class MixedSource:
    """Draws each pair from one of the `parts`, chosen by chance; `shares` add up to 1."""

    shares: Floats
    parts: Sequence[PairSource]

    @property
    def title(self) -> str:
        """`70 % chat, 30 % summaries`."""
        named = zip(self.shares.tolist(), self.parts, strict=True)
        return ", ".join(f"{100 * share:.3g} % {part.title}" for share, part in named)

    @property
    def counts(self) -> Mapping[str, int]:
        """What was unusable in the parts together."""
        total: Counter[str] = Counter()
        for part in self.parts:
            total.update(part.counts)
        return dict(total)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all parts."""
        return tuple(note for part in self.parts for note in part.notes)

    def draw(self, rng: Generator, size: int) -> Pairs:
        """`size` pairs; every part draws as many, so that shares never move its stream."""
        which = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(size), side="right")
        drawn = [part.draw(rng, size) for part in self.parts]
        events: dict[str, Ints] = {}
        for index, pairs in enumerate(drawn):
            for reason, happened in pairs.events.items():
                kept = np.where(which == index, happened, 0)
                events[reason] = events.get(reason, np.zeros(size, dtype=np.int64)) + kept
        place = np.arange(size)
        prompt = np.stack([pairs.prompt for pairs in drawn])[which, place]
        return Pairs(prompt, np.stack([pairs.output for pairs in drawn])[which, place], events)
