"""Pairs of lengths, in blocks: what every source of lengths hands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.random import Generator

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Samples are drawn this many at a time, whatever `num_requests` is: the first k requests are
#: the same in a short run and in a long one, and a million stream in constant memory.
BLOCK = 4096

#: The largest length there is; lengths are kept in 32 bits.
MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """A block of (prompt, output) lengths in tokens, all at least 1.

    `events` counts, pair by pair, what was done to a sample (`output_redrawn`, ...);
    `max_tokens` is what clients declare, None when they declare nothing.
    """

    prompt: Ints
    output: Ints
    events: Mapping[str, Ints] = field(default_factory=dict)
    max_tokens: Ints | None = None

    def __len__(self) -> int:
        return len(self.prompt)


class PairSource(Protocol):
    """Something to draw pairs of lengths from."""

    @property
    def title(self) -> str:
        """What is drawn from, in a few words."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What was unusable in the source itself, by reason."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report has to say about the source."""

    def draw(self, rng: Generator, size: int) -> Pairs:
        """`size` pairs from `rng`."""


def endless(source: PairSource, rng: Generator) -> Iterator[Pairs]:
    """Blocks of pairs without end."""
    while True:
        yield source.draw(rng, BLOCK)
